"""What the GPU-target checks add to `grade check` of the solutions on CPU: cold, and with their verdicts remembered.

Whole processes that take turns; the median of the ratios within a turn.  Cold means an empty cache folder each time.
"""

from __future__ import annotations

import os
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).parents[1]
ROUNDS = 9


def main() -> None:
    times: dict[str, list[float]] = {"off": [], "cold": [], "warm": []}
    with tempfile.TemporaryDirectory() as warm:
        _seconds("--targets", warm)
        for _ in range(ROUNDS):
            times["off"].append(_seconds("--no-targets", warm))
            with tempfile.TemporaryDirectory() as empty:
                times["cold"].append(_seconds("--targets", empty))
            times["warm"].append(_seconds("--targets", warm))
    for name, values in times.items():
        ratio = statistics.median(value / off for value, off in zip(values, times["off"], strict=True))
        spread = f"spread {min(values):.2f} to {max(values):.2f}"
        print(f"targets {name:<5} {statistics.median(values):6.2f} s   ratio to off {ratio:5.2f}   ({spread})")
    print("goal: cold at most 1.40, warm 1.00")


def _seconds(option: str, cache: str) -> float:
    command = [sys.executable, "-m", "autograder.cli.grade", "--root", str(ROOT), "check"]
    command += ["--dir", str(ROOT / "solutions"), "--device", "cpu", option]
    environment = {**os.environ, "XDG_CACHE_HOME": cache}
    start = time.perf_counter()
    subprocess.run(command, check=True, cwd=ROOT, env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    return time.perf_counter() - start


if __name__ == "__main__":
    main()
