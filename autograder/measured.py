"""What a worker measured of one case: times beside the baselines', errors, and the roof of its GPU.

Here is also the job that has it measured, and how a ratio over several cases is made.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from autograder.catalogue import Exercise
from autograder.protocol import CheckJob, CheckReply, Job, Limits

STUDENT = "student"
# For one case: a kernel of a second, and unfused torch beside it, each some dozen times.
LIMITS = Limits(cpu_seconds=1200.0, wall_seconds=180.0)


@dataclass(frozen=True, slots=True)
class Times:
    """Of one contender: seconds (the median, and what one launch in ten is below and above), and extra bytes."""

    median: float
    low: float
    high: float
    memory: float


@dataclass(frozen=True, slots=True)
class Measured:
    """One case: ``times`` by contender, ``absent`` baselines, which do not take these inputs on this GPU.

    ``error`` and ``bar`` are those of the output that came closest to its bar or went furthest over it.  ``roof`` has
    bytes a second of a copy and operations a second of a large matmul, by dtype.  ``kernel`` has registers a thread,
    bytes of spills a thread and of shared memory a block, where they are known.
    """

    times: Mapping[str, Times]
    absent: tuple[str, ...]
    right: bool
    error: float
    bar: float
    roof: Mapping[str, float]
    kernel: Mapping[str, float]

    def ratio(self, baseline: str) -> float | None:
        """How often the kernel runs while the baseline runs once; None without that baseline."""
        if baseline not in self.times or self.times[STUDENT].median == 0:
            return None
        return self.times[baseline].median / self.times[STUDENT].median


def measuring_job(job: Job, exercise: Exercise, cases: Sequence[Mapping[str, Any]]) -> Job:
    """``job`` with its kernels measured on ``cases`` instead of checked; checks are called m0, m1 ..."""
    assert exercise.bench is not None
    checks = tuple(CheckJob(f"m{number}", case, {}) for number, case in enumerate(cases))
    return replace(
        job,
        checks=checks,
        limits=LIMITS,
        unasked=None,
        programme={},
        recording=0,
        bench=str(exercise.bench_file),
        baselines=tuple(exercise.bench.baselines),
    )


def measured(reply: CheckReply) -> Measured | None:
    """What a reply that ran says; None if it lacks the student's times."""
    groups: dict[str, dict[str, float]] = {}
    for key, value in reply.measurements.items():
        kind, _, name = key.partition(".")
        groups.setdefault(kind, {})[name] = value
    medians, lows, highs, memory = (groups.get(kind, {}) for kind in ("median", "low", "high", "memory"))
    if STUDENT not in medians or "share" not in groups:
        return None
    times = {
        name: Times(median, lows.get(name, median), highs.get(name, median), memory.get(name, 0.0))
        for name, median in medians.items()
    }
    when = max(groups["share"], key=lambda name: groups["share"][name])
    return Measured(
        times,
        tuple(groups.get("absent", {})),
        groups["share"][when] <= 1,
        groups.get("error", {}).get(when, math.inf),
        groups.get("bar", {}).get(when, 0.0),
        groups.get("roof", {}),
        {name: groups[name][""] for name in ("registers", "spills", "shared_bytes") if name in groups},
    )


def mean_ratio(found: Sequence[Measured], baseline: str) -> float | None:
    """The geometric mean of the ratios to a baseline; None where a case lacks it."""
    ratios = [one.ratio(baseline) for one in found]
    known = [ratio for ratio in ratios if ratio is not None]
    return math.prod(known) ** (1 / len(known)) if known and len(known) == len(ratios) else None
