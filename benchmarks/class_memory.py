"""Does memory grow with the class?  `course grade` of 2,000 hand-ins, none alike, on CPU.

    python benchmarks/class_memory.py [--students 2000]

Two pieces of lesson 7, target checks off.  Prints memory after a tenth of the class and at its end: judge, fork server
and children together.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from pathlib import Path

from memory import watch

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT))

from tests.synthetic_class import ONE_SHOT, solution, unlike_others  # noqa: E402


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--students", type=int, default=2000)
    students = parser.parse_args().students
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        for number in range(students):
            own = folder / "hand-ins" / f"student{number:05d}"
            own.mkdir(parents=True)
            (own / ONE_SHOT).write_text(unlike_others(solution(ONE_SHOT), number))
        command = [
            sys.executable,
            "-m",
            "autograder.cli.course",
            "--root",
            str(ROOT),
            "grade",
            str(folder / "hand-ins"),
        ]
        command += ["--out", str(folder / "out"), "--device", "cpu", "--no-targets"]
        command += ["--exercise", "kernel_loads", "--exercise", "score_mask"]
        seen: dict[int, float] = {}

        def look(memory: float) -> None:
            results = folder / "out" / "results"
            done = sum(1 for _ in results.iterdir()) if results.is_dir() else 0
            tenth = 10 * done // students
            seen[tenth] = max(seen.get(tenth, 0.0), memory)

        if watch(command, ROOT, look) != 0:
            sys.exit("course grade failed")
    for tenth, memory in sorted(seen.items()):
        print(f"{tenth * 10:3d}% of {students} graded: at most {memory / 1e6:6.0f} MB")
    print(
        f"ratio of the last tenth to the first: {max(seen[9], seen.get(10, 0.0)) / max(seen[0], seen[1]):.2f} (goal: 1)"
    )


if __name__ == "__main__":
    main()
