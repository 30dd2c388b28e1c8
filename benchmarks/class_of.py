"""A class of right hand-ins, none alike, graded by `course grade`: what the class benchmarks share."""

from __future__ import annotations

import csv
import subprocess
import sys
import time
from pathlib import Path

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT))

from tests.synthetic_class import FLASH, ONE_SHOT, solution, unlike_others  # noqa: E402


def course_grade(folder: Path, students: int, *options: str) -> float:
    """Seconds a hand-in that a whole `course grade` takes, its start included; all have full marks."""
    for number in range(students):
        own = folder / "hand-ins" / f"student{number:03d}"
        own.mkdir(parents=True)
        for name in (ONE_SHOT, FLASH):
            (own / name).write_text(unlike_others(solution(name), number))
    command = [sys.executable, "-m", "autograder.cli.course", "--root", str(ROOT), "grade", str(folder / "hand-ins")]
    command += ["--out", str(folder / "out"), *options]
    start = time.perf_counter()
    subprocess.run(command, check=True, cwd=ROOT, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    seconds = time.perf_counter() - start
    with (folder / "out" / "grades.csv").open(newline="", encoding="utf-8") as stream:
        scores = [float(row["score"]) for row in csv.DictReader(stream)]
    assert scores == [10.0] * students, scores
    return seconds / students
