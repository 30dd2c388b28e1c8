"""A class on a CUDA GPU, none alike and nothing cached: `course grade` with all cores beside one hand-in at a time.

    python benchmarks/class_on_gpu.py [--students 100] [--alone 4]

Lesson 7 with hidden cases.  It is bound by compiling, which each hand-in needs for its own kernels.
"""

from __future__ import annotations

import argparse
import os
import tempfile
from pathlib import Path

from class_of import course_grade


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--students", type=int, default=100)
    parser.add_argument("--alone", type=int, default=4, help="Hand-ins that are graded one at a time.")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        alone = course_grade(folder / "alone", arguments.alone, "--device", "cuda", "--workers", "1")
        together = course_grade(folder / "class", arguments.students, "--device", "cuda")
    print(f"one at a time    {alone:6.2f} s a hand-in")
    print(f"{os.cpu_count():3} at a time    {together:6.2f} s a hand-in (goal on an H200 with 16 cores: 1.0)")
    print(f"ratio            {alone / together:6.2f}")


if __name__ == "__main__":
    main()
