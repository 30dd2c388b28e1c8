"""Times and memory of calls on a CUDA GPU, and how memory grows with a length."""

from __future__ import annotations

import math
import statistics
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

_ROUNDS = (7, 40)  # at least, at most
_BUDGET = 0.25  # seconds, of all rounds of all calls together
_FLUSHED = 2**29  # bytes that are written before each call: more than any cache holds


@dataclass(frozen=True)
class Times:
    """Milliseconds: the median and the ends of what was measured."""

    median: float
    least: float
    most: float

    @classmethod
    def of(cls, values: Sequence[float]) -> Times:
        return cls(statistics.median(values), min(values), max(values))

    @property
    def spread(self) -> float:
        """Half of what lies between the ends, as a share of the median."""
        return (self.most - self.least) / 2 / self.median


def take_turns(calls: Sequence[Sequence[Callable[[], Any]]]) -> list[Times]:
    """The times of each call, one after another in rounds, with the caches flushed before each.

    ``calls`` holds the forms that are compared, each for every set of inputs; a round takes the next set.
    """
    import torch

    flush = torch.empty(_FLUSHED, dtype=torch.uint8, device="cuda")
    begin, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))

    def milliseconds(call: Callable[[], Any]) -> float:
        flush.zero_()  # keeps the GPU at work, too, until the call has been sent
        begin.record()
        call()
        end.record()
        end.synchronize()
        return float(begin.elapsed_time(end))

    for sets in calls:  # compile, and warm up
        for call in sets:
            call()
    first = sum(milliseconds(sets[0]) for sets in calls) / 1e3
    rounds = min(max(int(_BUDGET / max(first, 1e-6)), _ROUNDS[0]), _ROUNDS[1])
    found: list[list[float]] = [[] for _ in calls]
    for number in range(rounds):
        for place, sets in enumerate(calls):
            found[place].append(milliseconds(sets[number % len(sets)]))
    return [Times.of(values) for values in found]


def extra_memory(call: Callable[[], Any], result_bytes: Callable[[Any], int] = lambda result: 0) -> int:
    """The bytes that a call takes at its peak beyond what there was before, without those of its result.

    It is what torch's allocator counts.  The call is made once before, so that what a library keeps for good, as a
    workspace, is there already.
    """
    import torch

    call()
    torch.cuda.synchronize()
    before = torch.cuda.memory_allocated()
    torch.cuda.reset_peak_memory_stats()
    result = call()
    torch.cuda.synchronize()
    return max(0, torch.cuda.max_memory_allocated() - before - result_bytes(result))


def kept_memory(make: Callable[[], Any]) -> tuple[Any, int]:
    """What ``make()`` returns, and the bytes that stay taken for it; of what it takes on its way nothing counts."""
    import torch

    before = torch.cuda.memory_allocated()
    made = make()
    torch.cuda.synchronize()
    return made, max(0, torch.cuda.memory_allocated() - before)


def growth(first: float, last: float, factor: float) -> float:
    """The exponent e of memory ~ N^e, from what is needed at N and at ``factor`` * N; 0 where nothing is needed.

    Memory that is there at the larger length only has no exponent: infinity.
    """
    if last <= 0:
        return 0.0
    return math.inf if first <= 0 else math.log(last / first) / math.log(factor)
