"""What in a recording may be the steps of a stream: the passes of one or more loops, or the calls of one function."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from autograder.recording import Call, Pass, Recording, Spans

# Steps that are looked at; of more, several in a row count as one.
_MOST_STEPS = 128
_MOST_RUNS = 24
_MOST_JOINED = 4  # runs, of which each stretch is looked at

Rows = Mapping[str, frozenset[int]]


@dataclass(frozen=True, slots=True)
class Sequenced:
    """Steps, and the moment before them where it was recorded.

    ``loads`` are the rows that each step loads of each input, ``earlier`` those that were loaded before the first step,
    ``ahead`` those of them that were loaded last, and ``others`` those that are loaded before it or after the last.
    ``direct`` if the steps are calls of the function that the exercise asks for, ``helper`` if they are calls of
    another.  ``lines`` are the loops'.
    """

    function: str
    lines: tuple[int, ...]
    steps: tuple[Pass | Call, ...]
    loads: tuple[Rows, ...]
    earlier: Rows
    ahead: Rows
    others: Rows
    before: Pass | None = None
    direct: bool = False
    helper: bool = False

    @property
    def by_place(self) -> bool:
        """Whether the state has its place among what a function returns, and no name."""
        return self.direct or self.helper


class _Events:
    """A program's events, and for each the rows loaded of the streamed inputs, one bit a row; told of by keys."""

    def __init__(self, recording: Recording, program: int, streamed: Sequence[str], keys: Sequence[int]) -> None:
        rows = max(keys, default=-1) + 1
        self._key = {row: key for key, row in enumerate(keys) if row >= 0}
        self.all = [event for event in recording.events if event.program == program]
        self._loads = {name: [_bits(event.loads.get(name, ()), rows) for event in self.all] for name in streamed}

    def loaded(self, first: int, last: int) -> Rows:
        """The rows that events ``first`` up to but not ``last`` have loaded."""
        found = {}
        for name, loads in self._loads.items():
            bits = 0
            for item in loads[first:last]:
                bits |= item
            if bits:
                rows = (place for place, bit in enumerate(reversed(f"{bits:b}")) if bit == "1")
                found[name] = frozenset(self._key[row] for row in rows if row in self._key)
        return {name: keys for name, keys in found.items() if keys}


def _bits(spans: Spans, rows: int) -> int:
    bits = 0
    for first, last in spans:
        if first < rows:
            bits |= ((1 << (min(last, rows - 1) - first + 1)) - 1) << first
    return bits


def sequences(
    recording: Recording,
    functions: Sequence[str],
    program: int,
    parts: int,
    streamed: Sequence[str],
    keys: Sequence[int],
) -> Iterator[Sequenced]:
    """All that may be the steps of one program; functions have to return ``parts`` tiles or more.

    Of the loads those of the ``streamed`` inputs are looked at: ``keys`` says in which row each of the program's keys
    lies, and a load is told of by its keys.
    """
    loads = _Events(recording, program, streamed, keys)
    events = loads.all
    for function, chain in _chains(events):
        places = [place for run in chain for place in run if _pass(events[place]).number >= 0]
        first = _pass(events[chain[0][0]])
        before = first if first.number < 0 else None
        begin = chain[0][0] if before is not None else chain[0][0] - 1
        lines = tuple(dict.fromkeys(_pass(events[run[0]]).loop for run in chain))
        yield _sequenced(loads, function, lines, places, begin, before)
    calls = [place for place, event in enumerate(events) if isinstance(event, Call) and len(event.returned) >= parts]
    for name in dict.fromkeys(events[place].function for place in calls):
        places = [place for place in calls if events[place].function == name]
        outer = all(isinstance(event, Call) and event.outer for event in (events[place] for place in places))
        direct = name in functions and outer
        yield _sequenced(loads, name, (), places, -1, None, direct, not direct)


def _pass(event: Pass | Call) -> Pass:
    assert isinstance(event, Pass)
    return event


def _sequenced(
    events: _Events,
    function: str,
    lines: tuple[int, ...],
    places: Sequence[int],
    begin: int,
    before: Pass | None,
    direct: bool = False,
    helper: bool = False,
) -> Sequenced:
    """The steps that end at ``places`` among the events; what lies before the first begins behind ``begin``."""
    count = len(places)
    if count > _MOST_STEPS:
        places = [places[(number + 1) * count // _MOST_STEPS - 1] for number in range(_MOST_STEPS)]
    starts = [begin, *places[:-1]]
    earlier = events.loaded(0, begin + 1)
    after = events.loaded(places[-1] + 1, len(events.all))
    return Sequenced(
        function,
        lines,
        tuple(events.all[place] for place in places),
        tuple(events.loaded(start + 1, place + 1) for start, place in zip(starts, places, strict=True)),
        earlier,
        {} if before is None else events.loaded(begin, begin + 1),
        {name: earlier.get(name, frozenset()) | after.get(name, frozenset()) for name in {*earlier, *after}},
        before,
        direct,
        helper,
    )


def _chains(events: Sequence[Pass | Call]) -> Iterator[tuple[str, list[list[int]]]]:
    """Each run of each loop, and runs one after another in one function, as the places of their events.

    A loop within a loop has as many runs as the outer one has passes; only outer ones are joined.
    """
    runs: list[list[int]] = []
    open_runs: dict[tuple[str, int], list[int]] = {}
    for place, event in enumerate(events):
        if not isinstance(event, Pass):
            continue
        key = event.function, event.loop
        if event.number < 0 or key not in open_runs:
            open_runs[key] = []
            runs.append(open_runs[key])
        open_runs[key].append(place)
    runs = [run for run in runs if _pass(events[run[-1]]).number >= 0][:_MOST_RUNS]
    for run in runs:
        yield events[run[0]].function, [run]
    for function in dict.fromkeys(events[run[0]].function for run in runs):
        own = [run for run in runs if events[run[0]].function == function]
        outer = [run for run in own if not any(other[0] < run[0] and run[-1] < other[-1] for other in own)]
        for first in range(len(outer)):
            for last in range(first + 1, len(outer) if len(outer) <= _MOST_JOINED else 0):
                yield function, outer[first : last + 1]
        if len(outer) > _MOST_JOINED:
            yield function, outer


def programs_of(recording: Recording) -> tuple[int, ...]:
    """The programs that were recorded, in order."""
    return tuple(sorted({event.program for event in recording.events}))
