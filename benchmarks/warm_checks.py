"""CPU time of one hand-in's checks in a warm server, against the kernels' own run time.

CPU time is that of judge, fork server and children, from the kernel's own accounts.  The kernels' own time is what
the children measured around each launch.
"""

from __future__ import annotations

import os
import statistics
import sys
from pathlib import Path

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT))
ROUNDS = 5


def main() -> None:
    from autograder.catalogue import load_course
    from autograder.session import Grader, Request

    course = load_course(ROOT)
    with Grader(course, "cpu", targets="off") as grader:
        grader.grade(Request(ROOT / "solutions", course.exercises))
        spent, kernels = [], []
        for seed in range(ROUNDS):  # another seed each time: nothing is remembered
            before = _cpu_seconds(grader)
            result = grader.grade(Request(ROOT / "solutions", course.exercises, seed=1000 + seed))
            spent.append(_cpu_seconds(grader) - before)
            kernels.append(
                sum(check.measurements.get("seconds", 0.0) for item in result.exercises for check in item.checks)
            )
            assert result.all_passed
    cpu, own = statistics.median(spent), statistics.median(kernels)
    print(f"CPU time of the checks  {cpu:5.2f} s   (goal: at most 2)")
    print(f"the kernels' own time   {own:5.2f} s")
    print(f"ratio                   {cpu / own:5.2f}")


def _cpu_seconds(grader: object) -> float:
    """User and system time of this process, the fork server and all its children that have ended."""
    own = os.times()
    fields = Path(f"/proc/{grader._pool._process.pid}/stat").read_text().rsplit(")", 1)[1].split()  # type: ignore[attr-defined]
    ticks = os.sysconf("SC_CLK_TCK")
    return own.user + own.system + sum(int(field) for field in fields[11:15]) / ticks


if __name__ == "__main__":
    main()
