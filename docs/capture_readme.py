"""Write the README's terminal capture anew: `python docs/capture_readme.py`.

A student's folder is made with one known mistake in it, and the command shown above the capture is run there.
"""

from __future__ import annotations

import ast
import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
COMMAND = "grade check online_softmax_update --plain"
MISTAKE = "online_softmax_update/acc_not_rescaled"
_BLOCK = re.compile(rf"(<!-- capture: {COMMAND} -->\n```\n)(.*?)(\n```)", re.DOTALL)


def main() -> None:
    readme = ROOT / "README.md"
    with tempfile.TemporaryDirectory() as folder:
        text = capture(Path(folder))
    readme.write_text(_BLOCK.sub(lambda match: match[1] + text + match[3], readme.read_text(encoding="utf-8")))
    print(text)


def shown() -> str | None:
    """What the README shows now."""
    match = _BLOCK.search((ROOT / "README.md").read_text(encoding="utf-8"))
    return match[2] if match else None


def capture(folder: Path) -> str:
    """What the command prints, without the line of versions and the options that name the temporary folder."""
    sys.path.insert(0, str(ROOT))
    from autograder.catalogue import load_course

    exercise_id, mistake = MISTAKE.split("/")
    course = load_course(ROOT)
    for exercise in course.exercises:
        target = folder / "assignments" / exercise.stub
        target.parent.mkdir(parents=True, exist_ok=True)
        text = (ROOT / "solutions" / exercise.stub).read_text(encoding="utf-8")
        if exercise.stub == course.exercise(exercise_id).stub:
            wrong = (ROOT / "tests" / "mistakes" / exercise_id / f"{mistake}.py").read_text(encoding="utf-8")
            text = replaced(text, wrong)
        target.write_text(text, encoding="utf-8")
    command = [sys.executable, "-m", "autograder.cli.grade", "--root", str(ROOT), *COMMAND.split()[1:]]
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "XDG_CACHE_HOME": str(folder / "cache")}
    printed = subprocess.run(
        [*command, "--device", "cpu", "--dir", "assignments"],
        cwd=folder,
        capture_output=True,
        text=True,
        env=environment,
        check=False,
    )
    if printed.returncode != 1:
        raise RuntimeError(printed.stderr)
    text = re.sub(r"^CPU .*\n", "", printed.stdout, flags=re.MULTILINE)
    return re.sub(r"\s+--dir\s+assignments", "", text).strip()


def replaced(text: str, wrong: str) -> str:
    """A text with each function of ``wrong`` in place of its own of that name, as in a student's file."""
    rows = text.split("\n")
    spans = functions(text)
    for name, (first, last) in sorted(functions(wrong).items(), key=lambda item: -spans[item[0]][0]):
        begin, end = spans[name]
        rows[begin - 1 : end] = wrong.split("\n")[first - 1 : last]
    return "\n".join(rows)


def functions(text: str) -> dict[str, tuple[int, int]]:
    """First and last line of each function, decorators included."""
    nodes = (node for node in ast.parse(text).body if isinstance(node, ast.FunctionDef))
    return {
        node.name: (min(part.lineno for part in (node, *node.decorator_list)), node.end_lineno or node.lineno)
        for node in nodes
    }


if __name__ == "__main__":
    main()
