"""What in a recording may be the steps of a stream: the passes of a loop, or the calls of one function."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from autograder.recording import Call, Pass, Recording


@dataclass(frozen=True, slots=True)
class Sequenced:
    """Steps, one a chunk, and the moment before them where it was recorded.

    ``direct`` if they are calls of the function that the exercise asks for, ``helper`` if they are calls of another.
    ``line`` is the loop's.
    """

    function: str
    line: int
    steps: tuple[Pass | Call, ...]
    before: Pass | None = None
    direct: bool = False
    helper: bool = False

    @property
    def by_place(self) -> bool:
        """Whether the state has its place among what a function returns, and no name."""
        return self.direct or self.helper


def sequences(recording: Recording, functions: Sequence[str], program: int, parts: int) -> Iterator[Sequenced]:
    """All that may be the steps of one program; functions have to return ``parts`` tiles or more."""
    events = [event for event in recording.events if event.program == program]
    yield from _loops([event for event in events if isinstance(event, Pass)])
    calls = [event for event in events if isinstance(event, Call) and len(event.returned) >= parts]
    for name in dict.fromkeys(call.function for call in calls):
        steps = tuple(call for call in calls if call.function == name)
        direct = name in functions and all(call.outer for call in steps)
        yield Sequenced(name, 0, steps, direct=direct, helper=not direct)


def _loops(passes: Sequence[Pass]) -> Iterator[Sequenced]:
    """Each run of each loop; a loop within a loop has as many as the outer one has passes."""
    runs: list[list[Pass]] = []
    open_runs: dict[tuple[str, int], list[Pass]] = {}
    for item in passes:
        key = item.function, item.loop
        if item.number < 0 or key not in open_runs:
            open_runs[key] = []
            runs.append(open_runs[key])
        open_runs[key].append(item)
    for run in runs:
        before = run[0] if run[0].number < 0 else None
        steps = tuple(item for item in run if item.number >= 0)
        if steps:
            yield Sequenced(run[0].function, run[0].loop, steps, before)


def programs_of(recording: Recording) -> tuple[int, ...]:
    """The programs that were recorded, in order."""
    return tuple(sorted({event.program for event in recording.events}))
