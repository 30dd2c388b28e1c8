"""Which keys each step of a stream takes, as its loads show; where they leave a choice, each choice."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from autograder.judge.expected import Expected
from autograder.judge.sequences import Sequenced

Keys = frozenset[int]


@dataclass(frozen=True, slots=True)
class Taken:
    """``steps`` are the keys that each step takes anew; ``before`` those that were taken before the first.

    ``shown`` is whether loads show it: else it is a chunk a step, in the order of the keys.
    """

    steps: tuple[Keys, ...]
    before: Keys
    shown: bool = field(compare=False)

    @property
    def cumulated(self) -> list[Keys]:
        """What is taken in by the first step, and anew by each that follows."""
        return [self.steps[0] | self.before, *self.steps[1:]] if self.steps else []

    @property
    def all(self) -> Keys:
        return self.before.union(*self.steps)

    @property
    def idle(self) -> int:
        """The number of steps that take nothing."""
        return sum(not step for step in self.steps)


def ways_taken(expected: Expected, sequence: Sequenced) -> list[Taken]:
    """Each way in which the loads may be read, the plainest first."""
    found = list(dict.fromkeys(_shown(expected, sequence)))
    again = any(_loaded_again(sequence, name) for name in expected.streamed)
    if found and not again:
        return found
    count = len(sequence.steps)
    chunks = [frozenset(range(first, last + 1)) for first, last in expected.chunks]
    by_chunk = Taken(tuple((*chunks, *[frozenset()] * count)[:count]), frozenset(), False)
    return list(dict.fromkeys([*found, by_chunk]))


def _loaded_again(sequence: Sequenced, name: str) -> bool:
    """Whether a step loads rows of an input that a step before has loaded."""
    seen: Keys = frozenset()
    for loads in sequence.loads:
        rows = loads.get(name, frozenset())
        if rows & seen:
            return True
        seen |= rows
    return False


def _shown(expected: Expected, sequence: Sequenced) -> Iterator[Taken]:
    nothing: Keys = frozenset()
    for name in expected.streamed:
        rows = [loads.get(name, nothing) for loads in sequence.loads]
        yield from _anew(rows, nothing)
        if earlier := sequence.earlier.get(name, nothing):  # the first chunk, taken before the loop
            yield from _anew(rows, earlier)
        if ahead := sequence.ahead.get(name, nothing):  # each chunk, loaded a pass ahead
            yield from _anew([ahead, *rows[:-1]], nothing)


def _anew(rows: Sequence[Keys], before: Keys) -> Iterator[Taken]:
    """Each step's keys that none before has taken; a step that loads what has been taken only takes nothing."""
    seen = before
    steps = []
    for loaded in rows:
        if loaded and loaded <= seen:
            return
        steps.append(loaded - seen)
        seen = seen | loaded
    if any(steps):
        yield Taken(tuple(steps), before, True)


def loaded_astray(expected: Expected, sequence: Sequenced, taken: Taken, step: int) -> str | None:
    """The input of which a step has loaded other rows than those that belong there, if that is certain."""
    for name in expected.streamed:
        rows = [loads.get(name, frozenset()) for loads in sequence.loads]
        ahead = [sequence.ahead.get(name, frozenset()), *rows]
        if rows[step] and rows[step] != taken.steps[step] != ahead[step] and rows[:step] == list(taken.steps[:step]):
            return name
    return None
