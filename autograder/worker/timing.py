"""Times on a GPU: several ways to do one thing take turns, and each turn begins behind work that is already queued.

Taking turns is what makes ratios mean something: a GPU's clock changes within seconds, and so does what else runs on
it.  Between the marks around a launch lies nothing but the launch.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import torch

_MOST_LAUNCHES = 30  # in one turn
_QUEUE_CYCLES = 3_000_000  # about two milliseconds: the processor is done with a turn's launches before the GPU begins


class Clock(Protocol):
    """What times launches."""

    def mark(self) -> Any:
        """A moment on the GPU, behind all that was launched so far."""

    def seconds(self, start: Any, end: Any) -> float:
        """Between two moments; only after `settle`."""

    def settle(self) -> None:
        """Wait until all that was launched is done."""

    def get_ahead(self) -> None:
        """Give the GPU something to do, so that launches queue up and none waits for the processor."""


class CudaClock:
    """CUDA events."""

    def mark(self) -> torch.cuda.Event:
        event = torch.cuda.Event(enable_timing=True)
        event.record()
        return event

    def seconds(self, start: torch.cuda.Event, end: torch.cuda.Event) -> float:
        return float(start.elapsed_time(end)) / 1000

    def settle(self) -> None:
        torch.cuda.synchronize()

    def get_ahead(self) -> None:
        torch.cuda._sleep(_QUEUE_CYCLES)


class ProcessorClock:
    """For Triton's interpreter, where a launch is over when it returns."""

    def mark(self) -> float:
        return time.perf_counter()

    def seconds(self, start: float, end: float) -> float:
        return end - start

    def settle(self) -> None:
        """Nothing is under way."""

    def get_ahead(self) -> None:
        """Nothing queues up."""


def clock_of(device: str) -> Clock:
    """The clock of ``cpu`` or ``cuda``."""
    return CudaClock() if device == "cuda" else ProcessorClock()


@dataclass(frozen=True, slots=True)
class Spread:
    """Seconds of one launch: the median, and the times that one launch in ten is below and above."""

    median: float
    low: float
    high: float

    @classmethod
    def of(cls, samples: Sequence[float]) -> Spread:
        """Of at least one sample."""
        ordered = sorted(samples)
        last = len(ordered) - 1
        middle = (ordered[last // 2] + ordered[(last + 1) // 2]) / 2
        return cls(middle, ordered[math.floor(last * 0.1)], ordered[math.ceil(last * 0.9)])


def take_turns(
    runs: Mapping[str, Callable[[int], object]], clock: Clock, rounds: int, turn_seconds: float, between: Any = None
) -> dict[str, Spread]:
    """Time each of ``runs``, in ``rounds`` rounds in which each has a turn of about ``turn_seconds`` seconds.

    A run is called with a number that is one higher each time, by which it chooses its inputs.  ``between``, if given,
    is called before each timed launch, outside the marks.  Every turn begins with a launch that is not timed.
    """
    launches = {name: _launches(run, clock, turn_seconds) for name, run in runs.items()}
    samples: dict[str, list[float]] = {name: [] for name in runs}
    number = 0
    for turn in range(rounds):
        names = list(runs)
        for name in names[turn % len(names) :] + names[: turn % len(names)]:  # nobody is always behind the same one
            run = runs[name]
            run(number)
            clock.get_ahead()
            marks = []
            for _ in range(launches[name]):
                number += 1
                if between is not None:
                    between()
                start = clock.mark()
                run(number)
                marks.append((start, clock.mark()))
            clock.settle()
            samples[name] += [clock.seconds(start, end) for start, end in marks]
    return {name: Spread.of(times) for name, times in samples.items()}


def _launches(run: Callable[[int], object], clock: Clock, turn_seconds: float) -> int:
    """How many launches fill a turn, after the first ones, which compile and allocate."""
    run(0)
    run(1)
    clock.settle()
    start = clock.mark()
    run(2)
    end = clock.mark()
    clock.settle()
    once = max(clock.seconds(start, end), 1e-7)
    return max(2, min(_MOST_LAUNCHES, math.ceil(turn_seconds / once)))
