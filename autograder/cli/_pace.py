"""How fast a long command gets on, and the words that all of them use for how far they are."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from itertools import pairwise

_LEAST = 3  # done behind the first moment, before a time left is worth saying
_LEAST_SECONDS = 10.0
_AT_ONCE = 0.5  # seconds: what is done within them is of one moment
_WINDOW = 40  # the last so many, and those of the last so many seconds, make the pace
_WINDOW_SECONDS = 60.0


def clock_of(seconds: float) -> str:
    """A time as people write it: ``0:05``, ``12:40``, ``1:02:03``."""
    minutes, second = divmod(max(0, round(seconds)), 60)
    hours, minute = divmod(minutes, 60)
    return f"{hours}:{minute:02d}:{second:02d}" if hours else f"{minute}:{second:02d}"


def how_far(done: int, total: int | None, so_far: float, left: float | None) -> str:
    """How far a command is, such as ``12 of 60, 1:05 so far, about 3:10 left``; ASCII everywhere."""
    parts = [f"{done} of {total}"] if total is not None else []
    parts.append(f"{clock_of(so_far)} so far")
    if left is not None:
        parts.append(f"about {clock_of(_rounded(left))} left")
    return ", ".join(parts)


def waited(sentence: str, so_far: float) -> str:
    """What is waited for, and how long it is by now."""
    return f"{sentence}, {clock_of(so_far)} so far"


def _rounded(seconds: float) -> float:
    """No more exact than it is known; the longer, the coarser."""
    step = 5 if seconds < 60 else 10 if seconds < 600 else 60
    return max(1, round(seconds / step)) * step


@dataclass(slots=True)
class _Moment:
    """When something was done, how much, and how much was done before."""

    begin: float
    before: int
    count: int

    @property
    def middle(self) -> float:
        """How much was done in the middle of it."""
        return self.before + (self.count + 1) / 2


class Pace:
    """The time left, by what was done of late: a line is laid through it, and followed to the end.

    What comes before the first one is done counts for nothing: it had to wait for what starts only once, such as
    Triton.  Several that end together move a line little, where the time between the last two would jump.
    """

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._moments: deque[_Moment] = deque()
        self._done = 0

    def step(self, count: int = 1) -> None:
        """So many more are done now."""
        if count <= 0:
            return
        now = self._clock()
        moments = self._moments
        if moments and now - moments[-1].begin < _AT_ONCE:
            moments[-1].count += count
        else:
            moments.append(_Moment(now, self._done, count))
        self._done += count
        while (
            self._done - moments[0].before - moments[0].count >= _WINDOW and now - moments[1].begin >= _WINDOW_SECONDS
        ):
            moments.popleft()

    def left(self, todo: int) -> float | None:
        """About how many seconds ``todo`` more take; None as long as there is too little to tell by."""
        moments = self._moments
        if todo <= 0 or not moments or self._done <= _LEAST:
            return None
        took = moments[-1].begin - moments[0].begin
        if took < _LEAST_SECONDS:
            return None
        weight = sum(one.count for one in moments)
        when = sum(one.count * one.begin for one in moments) / weight
        much = sum(one.count * one.middle for one in moments) / weight
        together = sum(one.count * (one.begin - when) * (one.middle - much) for one in moments)
        each = sum(one.count * (one.begin - when) ** 2 for one in moments) / together  # seconds
        # Until the next is due the time left goes down with the clock; from then on each second makes it longer.
        now = self._clock()
        longest = max(later.begin - earlier.begin for earlier, later in pairwise(moments))
        late = max(0.0, now - moments[-1].begin - longest)
        on_the_line = (self._done + todo - much) * each - (now - late - when)
        return max(0.0, on_the_line) + late / took * each * todo
