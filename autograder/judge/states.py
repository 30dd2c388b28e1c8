"""A recorded running state against the expected one: which variables hold it, and where it first differs.

The exercise's oracle.py says what the state stands for after each step, in float64, and what every right way to keep
it agrees on.  That variables hold the state is shown by what comes of it: after the last step they amount to what is
expected at the end, or to the kernel's own output.  What is not shown in this way is not judged.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import torch

from autograder.judge.blame import differing, find_fault, worst
from autograder.judge.expected import Expected, State, wrong
from autograder.judge.holders import Tiles, held
from autograder.judge.recognise import MADE, NEAR, RIGHT, Reading, Recogniser, known_parts
from autograder.judge.sequences import Sequenced, sequences
from autograder.judge.taken import Keys, loaded_astray
from autograder.recording import Call, Held, Pass, Recording


@dataclass(frozen=True, slots=True)
class Finding:
    """The first state that is not as expected; ``index`` is a row of the output, and the column where there is one.

    ``name`` is a part of the state or an invariant, ``role`` the part at fault; None if it cannot be told.  ``astray``
    is an input of which other rows were loaded than those that belong there.
    """

    step: int
    name: str
    role: str | None
    index: tuple[int, ...]
    got: float
    expected: float
    astray: str | None


@dataclass(frozen=True, slots=True)
class Comparison:
    """What was read out of a recording, for one program.

    ``outcome`` is "differs"; "short" if keys were left out; "after" if the state is right after the last step; or
    "unread".  ``taken`` are the keys that each step shown takes, ``got`` and ``expected`` the state after it as the
    kernel's variables hold it, ``same`` whether they agree, ``holders`` the variable of each part and the tile in it,
    by step.  ``moving`` are the parts that each loop assigns, ``unknown`` those that no variable was found to hold.
    ``reading`` says how the state is kept, if not as expected.  ``whole`` if only whole chunks are left out and each
    step takes something.  ``before`` are the keys taken before the first step, ``near`` the invariants that are off by
    no more than the output is, which is little.
    """

    program: int
    first_row: int
    sequence: Sequenced
    outcome: str
    taken: tuple[Keys, ...]
    got: tuple[State, ...]
    expected: tuple[State, ...]
    same: tuple[bool, ...]
    holders: tuple[Mapping[str, tuple[str | None, Held]], ...]
    unknown: tuple[str, ...]
    moving: frozenset[str]
    reading: str
    rescaled: bool
    finding: Finding | None
    left_out: tuple[tuple[int, int], ...]
    whole: bool
    before: Keys
    near: tuple[str, ...] = ()

    @property
    def shown(self) -> list[str]:
        """The parts of the state that are shown."""
        return list(self.got[0]) if self.got else []


def compare_states(
    expected: Expected,
    recording: Recording,
    functions: Sequence[str],
    program: int,
    row: int | None = None,
    outputs: State | None = None,
) -> Comparison | None:
    """The best reading of a recording for one program, in all of its rows or in one; None if there is none.

    ``outputs`` are the kernel's, by rows.

    Raises:
        CourseError: the oracle lacks what traces need.
    """
    judge = _Judge(expected, recording, program, row, outputs or {})
    parts, keys = len(expected.stub_names), expected.keys_at(program)
    found = list(sequences(recording, functions, program, parts, expected.streamed, keys))
    if any(sequence.direct for sequence in found):
        found = [sequence for sequence in found if sequence.direct]
    read = [reading for sequence in found for reading in judge.readings(sequence)]
    return judge.compared(max(read, key=judge.rank)) if read else None


@dataclass(frozen=True)
class _Judge(Recogniser):
    """Tells what the readings of one program's recording amount to."""

    def compared(self, reading: Reading) -> Comparison:
        """What is shown of a reading, and the first difference if there is one for certain."""
        assert reading.taken is not None
        steady = self.steady(reading)
        outcome, finding, left = self._outcome(reading, steady)
        if outcome in ("unread", "after") and not reading.sequence.direct:
            steady = frozenset(name for name in steady if reading.status[name] == RIGHT)
        known, plain = self.expected.states(self.program, reading.taken.cumulated)
        steps = range(len(reading.sequence.steps))
        names = steady
        if outcome == "after" and not steady:  # right in the end, and on its way there in a way of its own
            names = frozenset(name for name, status in reading.status.items() if status == RIGHT)
            steps = steps[-1:]
        roles = [role for role in reading.holding.keys if any(role in self.expected.roles(name) for name in names)]
        raw, read, bad = self.raw(reading), self.read(reading), self.bad_by_step(reading)
        implied = [role for role in known_parts(read[-1]) if role not in reading.holding.keys]
        by_place = reading.sequence.by_place
        rescaled = any(
            not names & set(bad[step])
            and any(role in roles for role in differing(read[step], known[step], plain[step], self.rows))
            for step in steps
        )
        first, _, _ = self.expected.tile(self.program)
        end = self.final[0]
        kept = self.expected.kept(end, reading.number)
        otherwise = any(not torch.equal(kept[role], end[role]) for role in roles)
        return Comparison(
            self.program,
            first,
            reading.sequence,
            outcome,
            tuple(reading.taken.steps[step] for step in steps if roles),
            tuple({role: raw[step][role] for role in roles} for step in steps if roles),
            tuple(
                {role: x for role, x in self.expected.kept(known[step], reading.number).items() if role in roles}
                for step in steps
                if roles
            ),
            tuple(not names & set(bad[step]) for step in steps if roles),
            tuple(
                {
                    role: (None if by_place else key, held(reading.sequence.steps[step])[key])
                    for role, key in reading.holding.keys.items()
                }
                for step in steps
                if roles
            ),
            tuple(role for role in self.expected.stub_names if role not in roles and role not in implied),
            reading.holding.moving,
            self.expected.readings(end)[reading.number][0] if otherwise else "",
            rescaled,
            finding,
            left,
            all(last - first + 1 == self._length(first) for first, last in left) and not reading.taken.idle,
            reading.taken.before,
            tuple(name for name, status in reading.status.items() if status == NEAR),
        )

    def _outcome(
        self, reading: Reading, steady: frozenset[str]
    ) -> tuple[str, Finding | None, tuple[tuple[int, int], ...]]:
        blamable = frozenset(name for name in steady if reading.status[name] == MADE)
        if blamable and reading.certain:
            finding = self._finding(reading, steady)
            if finding is not None:
                return "differs", finding, ()
            if left := self._left_out(reading):
                return "short", None, left
            if reading.sequence.direct:
                return "after", None, ()
            return "unread", None, ()
        settled = {name for name, status in reading.status.items() if status == RIGHT}
        if self.wrong:
            return ("after" if self.wrong <= settled else "unread"), None, ()
        return ("after" if steady == self._ends[0].keys() else "unread"), None, ()

    def _finding(self, reading: Reading, steady: frozenset[str]) -> Finding | None:
        assert reading.taken is not None
        known, plain = self.expected.states(self.program, reading.taken.cumulated)
        first, _, _ = self.expected.tile(self.program)
        for step, (raw, read) in enumerate(zip(self.raw(reading), self.read(reading), strict=True)):
            judged = [name for name in self._ends[0] if name in steady]
            assigned = {*reading.holding.keys, *known_parts(read)}
            fault = find_fault(
                self.expected,
                read,
                known[step],
                plain[step],
                self.rows,
                judged,
                assigned,
                reading.sequence.direct,
                self._maximal(reading, step),
            )
            if fault is None:
                continue
            value, right = fault.got, fault.expected
            if fault.name in raw:  # in the unit in which the kernel keeps it, as in the table
                value = float(raw[fault.name][self.rows][fault.index])
                right = float(self.expected.kept(known[step], reading.number)[fault.name][self.rows][fault.index])
            astray = loaded_astray(self.expected, reading.sequence, reading.taken, step)
            index = (first + self.rows.start + fault.index[0], *fault.index[1:])
            role = fault.role if fault.role in reading.holding.keys else None
            return Finding(step, fault.name, role, index, value, right, astray)
        return None

    def _maximal(self, reading: Reading, step: int) -> bool:
        """Whether a tile that the kernel holds shows that m is the largest of its scores so far."""
        at = reading.sequence.steps[step]
        if not isinstance(at, Pass) or not {"m"} <= reading.holding.moving:
            return False
        _, rows, height = self.expected.tile(self.program)
        raw = self.raw(reading)
        if step:
            before = raw[step - 1]
        elif reading.sequence.before is not None and reading.holding.keys["m"] in reading.sequence.before.variables:
            tile = reading.sequence.before.variables[reading.holding.keys["m"]].tile
            fitted = self.tiles.fit(tile, (height,))
            if fitted is None:
                return False
            before = {"m": fitted[:rows]}
        else:
            return False
        for item in at.variables.values():
            scores = self.tiles.of_height(item.tile, height)
            if scores is None:
                continue
            grown = self.expected.grown(before, scores[:rows])
            if grown and torch.equal(grown["m"][self.rows], raw[step]["m"][self.rows]):
                return True
        return False

    def _length(self, first: int) -> int:
        """The number of keys of the chunk that begins with one; 0 if there is none."""
        return next((last - start + 1 for start, last in self.expected.chunks if start == first), 0)

    def _left_out(self, reading: Reading) -> tuple[tuple[int, int], ...]:
        """The keys that no step takes and nothing else loads, if they count for anything in these rows; by chunk."""
        assert reading.taken is not None
        seen = reading.taken.all
        if any(rows - seen for rows in reading.sequence.others.values()):
            return ()
        spans = []
        for first, last in self.expected.chunks:
            missing = sorted(set(range(first, last + 1)) - seen)
            if not missing:
                continue
            (before, after), _ = self.expected.states(self.program, [seen, missing])
            if any(not torch.equal(before[role][self.rows], after[role][self.rows]) for role in before):
                spans.append((missing[0], missing[-1]))
        return tuple(spans)


def wrongly_given(
    expected: Expected, recording: Recording, call: Call, program: int, chunk: int, row: int
) -> tuple[str, tuple[int, int], float, float] | None:
    """The first argument of a call that is not what it should have been: its name, row and column, got and expected.

    If it is wrong in ``row`` too, that row is told of.
    """
    exact, plain = expected.given(program, chunk)
    tiles = Tiles(recording)
    first, rows, height = expected.tile(program)
    for name, right in exact.items():
        if name not in call.arguments:
            continue
        got = tiles.fit(call.arguments[name], (height, *right.shape[1:]))
        if got is None or not (off := wrong(got[:rows], right, plain[name])).any():
            continue
        shown = slice(row - first, row - first + 1) if off[row - first].any() else slice(0, rows)
        (place, column), value, wanted = worst(got[:rows], right, plain[name], shown)
        return name, (first + shown.start + place, column), value, wanted
    return None
