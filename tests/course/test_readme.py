"""The README's terminal capture is what the command prints."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

from autograder.catalogue import load_course
from autograder.selfcheck._mistakes import mistakes

ROOT = Path(__file__).parents[2]
COMMAND = "grade check online_softmax_update --plain"
MISTAKE = "online_softmax_update/acc_not_rescaled"


def capture(folder: Path) -> str:
    """What ``COMMAND`` prints for a student with that mistake, without the line of versions."""
    course = load_course(ROOT)
    variant = next(item for item in mistakes(course) if item.label == MISTAKE)
    for exercise in course.exercises:
        target = folder / "assignments" / exercise.stub
        target.parent.mkdir(parents=True, exist_ok=True)
        solution = (ROOT / "solutions" / exercise.stub).read_text(encoding="utf-8")
        target.write_text(f"{solution}\n\n{variant.text}" if exercise.stub == variant.exercise.stub else solution)
    command = [sys.executable, "-m", "autograder.cli.grade", "--root", str(ROOT), *COMMAND.split()[1:]]
    command += ["--device", "cpu", "--dir", "assignments"]
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    printed = subprocess.run(command, cwd=folder, capture_output=True, text=True, env=environment)
    assert printed.returncode == 1, printed.stderr
    text = re.sub(r"^CPU .*\n", "", printed.stdout, flags=re.MULTILINE)
    return re.sub(r"\s+--dir\s+assignments", "", text).strip()


def test_the_capture_in_the_readme_is_real(tmp_path: Path) -> None:
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    shown = re.search(rf"<!-- capture: {COMMAND} -->\n```\n(.*?)\n```", readme, re.DOTALL)
    assert shown is not None
    assert shown[1] == capture(tmp_path)
