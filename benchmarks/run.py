"""Run every benchmark and print its ratios: `make bench`."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

BENCHMARKS = (
    "cold_check.py",
    "warm_checks.py",
    "target_checks.py",
    "diagnosis.py",
    "watch.py",
    "class_grading.py",
    "class_memory.py",
)


def main() -> None:
    here = Path(__file__).parent
    for name in BENCHMARKS:
        print(f"== {name}", flush=True)
        subprocess.run([sys.executable, here / name], check=True)


if __name__ == "__main__":
    main()
