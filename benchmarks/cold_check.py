"""`grade check` of the solutions on CPU, nothing cached, against the bare launches in one process (baseline.py).

Both are whole processes, imports included; they take turns, and the ratio is that of the medians.  Also prints the
peak memory of the grading side: judge, fork server and children together, as resident pages counted once (PSS).
"""

from __future__ import annotations

import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from memory import watch

ROOT = Path(__file__).parents[1]
ROUNDS = 5


def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        result = Path(folder) / "result.json"
        grade = [
            *(sys.executable, "-m", "autograder.cli.grade", "--root", str(ROOT), "check"),
            *("--dir", str(ROOT / "solutions"), "--device", "cpu", "--no-targets", "--json", str(result)),
        ]
        bare = [sys.executable, str(Path(__file__).parent / "baseline.py"), str(result)]
        peak = _peak_memory(grade)
        times: dict[str, list[float]] = {"grade": [], "bare": []}
        for _ in range(ROUNDS):
            times["grade"].append(_seconds(grade))
            times["bare"].append(_seconds(bare))
    grade_median, bare_median = statistics.median(times["grade"]), statistics.median(times["bare"])
    print(f"grade check  {grade_median:6.2f} s   (spread {min(times['grade']):.2f} to {max(times['grade']):.2f})")
    print(f"bare         {bare_median:6.2f} s   (spread {min(times['bare']):.2f} to {max(times['bare']):.2f})")
    print(f"ratio        {grade_median / bare_median:6.2f}     (goal: at most 2)")
    print(f"peak memory  {peak / 1e9:6.2f} GB  (goal: under 1.5)")


def _seconds(command: list[str]) -> float:
    start = time.perf_counter()
    subprocess.run(command, check=True, cwd=ROOT, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    return time.perf_counter() - start


def _peak_memory(command: list[str]) -> float:
    seen: list[float] = []
    watch(command, ROOT, seen.append)
    return max(seen)


if __name__ == "__main__":
    main()
