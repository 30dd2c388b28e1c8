"""Run a companion script on a folder of kernels, and make such folders from the solutions."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterable
from pathlib import Path

from autograder.catalogue import load_course
from autograder.release.markers import make_stub
from autograder.release.stubs import generate_stubs
from tests.lessons import of_lesson

ROOT = Path(__file__).resolve().parents[2]
SOLUTIONS = ROOT / "solutions"


def run(script: str, folder: Path, *options: str) -> tuple[int, str]:
    """A companion's exit code and output, on CPU."""
    environment = {name: value for name, value in os.environ.items() if not name.startswith("TRITON")}
    done = subprocess.run(
        [sys.executable, str(ROOT / "course/companions" / script), "--dir", str(folder), "--device", "cpu", *options],
        capture_output=True,
        text=True,
        timeout=300,
        env=environment,
        cwd=folder,
    )
    assert done.stderr == ""
    assert "Traceback" not in done.stdout
    return done.returncode, done.stdout


def hand_in(
    folder: Path,
    lesson: int,
    files: Iterable[str],
    stubbed: Iterable[str] = (),
    replaced: Iterable[tuple[str, str]] = (),
) -> Path:
    """A folder of flat files: the solutions, with some functions as in the stubs and some text replaced."""
    sources = {name: (SOLUTIONS / f"lesson{lesson}" / name).read_text(encoding="utf-8") for name in files}
    for old, _ in replaced:
        assert any(old in text for text in sources.values()), f"no solution holds {old}"
    for name, text in sources.items():
        pieces = [
            make_stub(piece, name) if any(f"def {function}(" in piece for function in stubbed) else piece
            for piece in text.split("@triton.jit\n")
        ]
        text = "@triton.jit\n".join(pieces)
        for old, new in replaced:
            text = text.replace(old, new)
        (folder / name).write_text(text, encoding="utf-8")
    return folder


def write_stubs(folder: Path) -> Path:
    """Every stub of the course, in the folders of their lessons."""
    for stub, text in generate_stubs(load_course(ROOT)).items():
        path = folder / stub
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    return folder


def exercises_of(lesson: int) -> list[str]:
    """The ids of a lesson's exercises; the companion of lesson 7 runs none of its homework."""
    return [exercise.id for exercise in of_lesson(load_course(ROOT), lesson)]


def fits_80_columns(output: str) -> bool:
    """Whether a page is at most 80 columns wide; the paths of the files that it names may be longer."""
    return max(len(line) for line in output.splitlines() if str(SOLUTIONS) not in line) <= 80
