"""What telling why costs: failing exercises graded with the diagnosis and without it, side by side, on CPU.

    python benchmarks/diagnosis.py [--every 12]

One in so many of the known wrong kernels, and the solutions.  Seconds are those of one exercise in a warm server.
"""

from __future__ import annotations

import argparse
import statistics
import sys
import tempfile
import time
from dataclasses import replace
from pathlib import Path

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT))

from autograder.catalogue import Exercise, load_course  # noqa: E402
from autograder.session import Grader, Request  # noqa: E402


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--every", type=int, default=12)
    every = parser.parse_args().every
    course = load_course(ROOT)
    wrong = [
        (exercise, path)
        for exercise in course.exercises
        for path in sorted((ROOT / "tests" / "mistakes" / exercise.id).glob("*.py"))[::every]
    ]
    with tempfile.TemporaryDirectory() as name, Grader(course, "cpu", targets="off") as grader:
        seeds = iter(range(1000, 100000))  # another seed each time: nothing is remembered

        def seconds(folder: Path, exercise: Exercise, diagnose: bool) -> float:
            request = replace(Request(folder, (exercise,), next(seeds)), diagnose=diagnose)
            start = time.perf_counter()
            grader.grade(request)
            return time.perf_counter() - start

        added = {}
        for exercise, path in wrong:
            folder = Path(name) / exercise.id / path.stem
            target = folder / exercise.stub
            target.parent.mkdir(parents=True)
            solution = (ROOT / "solutions" / exercise.stub).read_text(encoding="utf-8")
            target.write_text(f"{solution}\n\n{path.read_text(encoding='utf-8')}", encoding="utf-8")
            seconds(folder, exercise, False)
            added[f"{exercise.id}/{path.stem}"] = seconds(folder, exercise, True) - seconds(folder, exercise, False)
        passing = [
            seconds(ROOT / "solutions", exercise, True) / seconds(ROOT / "solutions", exercise, False)
            for exercise in course.exercises
        ]
    slowest = max(added, key=lambda label: added[label])
    print(f"{len(added)} wrong kernels: the diagnosis adds {statistics.median(added.values()):.2f} s (median)")
    print(f"most: {added[slowest]:.2f} s, {slowest}   (goal: at most 1.5 s)")
    print(f"passing exercises: {statistics.median(passing):.2f} times as long   (goal: 1)")


if __name__ == "__main__":
    main()
