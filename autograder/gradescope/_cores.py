"""How many cores a container may use, which is seldom how many the machine has."""

from __future__ import annotations

import math
import os
from pathlib import Path

_V2 = Path("/sys/fs/cgroup/cpu.max")
_V1 = (Path("/sys/fs/cgroup/cpu/cpu.cfs_quota_us"), Path("/sys/fs/cgroup/cpu/cpu.cfs_period_us"))


def allowed_cores(v2: Path = _V2, v1: tuple[Path, Path] = _V1) -> int:
    """The cores of this process: those that it may run on, and no more than its share of their time; at least 1."""
    cores = len(os.sched_getaffinity(0))
    share = _share(v2, v1)
    return max(1, cores if share is None else min(cores, math.ceil(share)))


def _share(v2: Path, v1: tuple[Path, Path]) -> float | None:
    """The time that the container gets, in cores, from version 2 or 1 of control groups; None without a limit."""
    try:
        quota, period = v2.read_text().split()
    except (OSError, ValueError):
        try:
            quota, period = (path.read_text().strip() for path in v1)
        except OSError:
            return None
    if not (quota.isdigit() and period.isdigit() and int(period)):
        return None
    return int(quota) / int(period)
