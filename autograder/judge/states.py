"""A recorded running state against the expected one: which variables hold it, and where it first differs.

The exercise's oracle.py says what the state stands for after each step, in float64, and what every right way to keep
it agrees on.  That variables hold the state is shown by what comes of it: after the last step they amount to what is
expected at the end, or to the kernel's own output.  What is not shown in this way is not judged.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import torch

from autograder.judge.blame import differing, find_fault, worst
from autograder.judge.expected import Expected, State, wrong
from autograder.judge.holders import Holding, Tiles, held, holdings, raw_state
from autograder.judge.sequences import Sequenced, sequences
from autograder.judge.taken import Keys, Taken, loaded_astray, ways_taken
from autograder.recording import Call, Held, Pass, Recording

_MOST_ALIKE = 3  # holdings that amount to the same, of which each is looked at

# What the state after the last step stands for, by invariant.
_RIGHT = "right"  # for what is expected
_MADE = "made"  # for the kernel's output, which is wrong
_NEAR = "near"  # for both, and the kernel's output is nearer


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
    by step; ``moving`` are the parts that some step assigns, and ``unknown`` are the parts that no variable was found to hold, ``reading`` says how the state is kept, if
    not as expected, ``whole`` if
    only whole chunks are left out and each step takes something, ``before`` are the keys taken before the first step, and ``near`` the invariants that are off by no more than the output is, which is little.
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

    ``outputs`` are the kernel's.

    Raises:
        CourseError: the oracle lacks what traces need.
    """
    judge = _Judge(expected, recording, program, row, outputs or {})
    found = list(sequences(recording, functions, program, len(expected.stub_names), expected.streamed, expected.keys))
    if any(sequence.direct for sequence in found):
        found = [sequence for sequence in found if sequence.direct]
    read = [reading for sequence in found for reading in judge.readings(sequence)]
    return judge.compared(max(read, key=judge.rank)) if read else None


@dataclass(frozen=True)
class _Reading:
    """A sequence with the variables that hold its state, read in one way, and what each invariant amounts to."""

    sequence: Sequenced
    holding: Holding
    number: int
    status: Mapping[str, str]
    taken: Taken | None = None
    certain: bool = True


@dataclass(frozen=True)
class _Judge:
    """Judges the readings of one program's recording."""

    expected: Expected
    recording: Recording
    program: int
    row: int | None
    outputs: State

    @cached_property
    def tiles(self) -> Tiles:
        return Tiles(self.recording)

    @cached_property
    def rows(self) -> slice:
        """The rows that are looked at, counted from the program's first."""
        first, rows, _ = self.expected.tile(self.program)
        return slice(0, rows) if self.row is None else slice(self.row - first, self.row - first + 1)

    @cached_property
    def final(self) -> tuple[State, State]:
        return self.expected.final(self.program)

    @cached_property
    def _ends(self) -> tuple[State, State]:
        exact, plain = (self.expected.invariants(state) for state in self.final)
        return exact, plain

    @cached_property
    def _made(self) -> State:
        """What the kernel's outputs say of the invariants, in the program's rows."""
        first, rows, _ = self.expected.tile(self.program)
        like = self._ends[0]
        return {
            invariant: self.outputs[name][first : first + rows].double()
            for name, invariant in self.expected.ends.items()
            if name in self.outputs and self.outputs[name][first : first + rows].shape == like[invariant].shape
        }

    @cached_property
    def wrong(self) -> frozenset[str]:
        """The invariants of which the kernel's output is wrong in the rows that are looked at."""
        exact, plain = (
            {self.expected.ends[name]: x for name, x in values.items() if name in self.expected.ends}
            for values in self.expected.outputs()
        )
        first, rows, _ = self.expected.tile(self.program)
        found = set()
        for invariant, got in self._made.items():
            right, rough = (values[invariant] for values in (exact, plain))
            whole = torch.full_like(right, 0.0)
            whole[first : first + rows] = got
            off = wrong(whole, right, rough, slack=1.0)[first : first + rows]
            if off[self.rows].any():
                found.add(invariant)
        return frozenset(found)

    # Which variables hold the state --------------------------------------------------------------------------------

    def readings(self, sequence: Sequenced) -> list[_Reading]:
        """The readings of a sequence that amount to something, each with the keys that fit it best."""
        alike: dict[frozenset[str], list[_Reading]] = {}
        like = self.final[0]
        last = len(sequence.steps) - 1
        for holding in holdings(self.expected, sequence, self.tiles, self.program, like, whole=sequence.direct):
            raw = raw_state(self.expected, self.tiles, sequence, holding, last, self.program, like)
            for number, (_, read) in enumerate(self.expected.readings(raw)):
                if sequence.direct:
                    status = dict.fromkeys(self._ends[0], _MADE)
                else:
                    status = self._status(self.expected.invariants(read), holding)
                # What a way of keeping it makes of one part shows only where the others come out as well.
                if status and (number == 0 or len(status) == len(self._ends[0])):
                    alike.setdefault(frozenset(status), []).append(_Reading(sequence, holding, number, status))
        found = []
        for readings in alike.values():
            readings.sort(key=lambda item: (item.number, len(item.holding.keys), *_last_resort(item.holding)))
            found += [self._with_keys(reading) for reading in readings[:_MOST_ALIKE]]
        return found

    def _status(self, values: State, holding: Holding) -> dict[str, str]:
        """What each invariant of a last state amounts to; those that amount to nothing are left out."""
        exact, plain = self._ends
        found = {}
        for name, got in values.items():
            whole = all(role in holding.keys for role in self.expected.roles(name))
            if not whole and torch.isnan(got[self.rows]).any():
                continue
            made = self._made.get(name)
            is_made = made is not None and torch.allclose(made[self.rows], got[self.rows], 1e-3, 1e-5, equal_nan=True)
            if wrong(got, exact[name], plain[name])[self.rows].any():
                if is_made and name in self.wrong:
                    found[name] = _MADE
            elif (
                name in self.wrong
                and made is not None
                and _gap(got, made, self.rows) <= _gap(got, exact[name], self.rows)
            ):
                found[name] = _NEAR
            else:
                found[name] = _RIGHT
        return found

    def _with_keys(self, reading: _Reading) -> _Reading:
        """A reading with the keys that its steps take; it is not certain if others fit as well."""
        ways = ways_taken(self.expected, reading.sequence)
        scores = []
        for taken in ways:
            known, plain = self.expected.states(self.program, taken.cumulated)
            agreeing = parts = 0
            for step, read in enumerate(self._read(reading)):
                bad = self._bad(read, known[step], plain[step])
                agreeing += sum(name not in bad for name in reading.status)
                off = differing(read, known[step], plain[step], self.rows)
                parts += sum(role not in off for role in reading.holding.keys)
            complete = taken.all >= frozenset(range(self.expected.keys))
            scores.append((agreeing, parts, complete))
        best = max(range(len(ways)), key=lambda place: (scores[place], -place))
        certain = all(score < scores[best] for place, score in enumerate(scores) if place != best)
        return replace(reading, taken=ways[best], certain=certain)

    def _raw(self, reading: _Reading) -> list[State]:
        like = self.final[0]
        return [
            raw_state(self.expected, self.tiles, reading.sequence, reading.holding, step, self.program, like)
            for step in range(len(reading.sequence.steps))
        ]

    def _read(self, reading: _Reading) -> list[State]:
        return [self.expected.readings(raw)[reading.number][1] for raw in self._raw(reading)]

    def _bad(self, read: State, known: State, plain: State) -> list[str]:
        values, rights, plains = (self.expected.invariants(state) for state in (read, known, plain))
        return differing(values, rights, plains, self.rows)

    # What a reading is worth ---------------------------------------------------------------------------------------

    def rank(self, reading: _Reading) -> tuple[object, ...]:
        """The more of the outputs a reading explains, pass by pass, the better; those that are wrong come first."""
        assert reading.taken is not None
        steady = self._steady(reading)
        return (
            len(steady & self.wrong),
            len(steady),
            len(reading.status.keys() & self.wrong),
            len(reading.status),
            -reading.taken.idle,
            not reading.sequence.helper,
            len(reading.sequence.steps),
            -reading.number,
            -len(reading.holding.keys),
            *(-value for value in _last_resort(reading.holding)),
            reading.sequence.lines,
        )

    def _steady(self, reading: _Reading) -> frozenset[str]:
        """The invariants that can be judged after each step.

        One that is right in the end is right after each step, or the steps are not what they seem: then no other can be
        judged either.
        """
        if reading.sequence.direct:
            return frozenset(reading.status)
        bad = self._bad_by_step(reading)
        steady = {name for name in reading.status if self._adds_up(reading, name)}
        right = {name for name, status in reading.status.items() if status == _RIGHT}
        failing = {name for name in right if any(name in step for step in bad)}
        made = {name for name, status in reading.status.items() if status == _MADE and not failing}
        return frozenset(steady & ((right - failing) | made))

    def _bad_by_step(self, reading: _Reading) -> list[list[str]]:
        assert reading.taken is not None
        known, plain = self.expected.states(self.program, reading.taken.cumulated)
        return [self._bad(read, known[step], plain[step]) for step, read in enumerate(self._read(reading))]

    def _adds_up(self, reading: _Reading, invariant: str) -> bool:
        """Whether what an invariant is made of grows along the steps; a scale may be known beforehand."""
        holding = reading.holding
        roles = self.expected.roles(invariant)
        if all(role in holding.keys for role in roles):
            return all(role in holding.moving for role in roles if role in self.expected.sums)
        rest = [role for role in self.expected.stub_names if role not in roles or role in holding.keys]
        return all(role in holding.moving for role in rest)

    # What is told of it --------------------------------------------------------------------------------------------

    def compared(self, reading: _Reading) -> Comparison:
        """What is shown of a reading, and the first difference if there is one for certain."""
        assert reading.taken is not None
        steady = self._steady(reading)
        outcome, finding, left = self._outcome(reading, steady)
        if outcome in ("unread", "after") and not reading.sequence.direct:
            steady = frozenset(name for name in steady if reading.status[name] == _RIGHT)
        known, plain = self.expected.states(self.program, reading.taken.cumulated)
        steps = range(len(reading.sequence.steps))
        names = steady
        if outcome == "after" and not steady:  # right in the end, and on its way there in a way of its own
            names = frozenset(name for name, status in reading.status.items() if status == _RIGHT)
            steps = steps[-1:]
        roles = [role for role in reading.holding.keys if any(role in self.expected.roles(name) for name in names)]
        raw, read, bad = self._raw(reading), self._read(reading), self._bad_by_step(reading)
        implied = [role for role in _known(read[-1]) if role not in reading.holding.keys]
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
            tuple(name for name, status in reading.status.items() if status == _NEAR),
        )

    def _outcome(
        self, reading: _Reading, steady: frozenset[str]
    ) -> tuple[str, Finding | None, tuple[tuple[int, int], ...]]:
        blamable = frozenset(name for name in steady if reading.status[name] == _MADE)
        if blamable and reading.certain:
            finding = self._finding(reading, steady)
            if finding is not None:
                return "differs", finding, ()
            if left := self._left_out(reading):
                return "short", None, left
            if reading.sequence.direct:
                return "after", None, ()
            return "unread", None, ()
        settled = {name for name, status in reading.status.items() if status == _RIGHT}
        if self.wrong:
            return ("after" if self.wrong <= settled else "unread"), None, ()
        return ("after" if steady == self._ends[0].keys() else "unread"), None, ()

    def _finding(self, reading: _Reading, steady: frozenset[str]) -> Finding | None:
        assert reading.taken is not None
        known, plain = self.expected.states(self.program, reading.taken.cumulated)
        first, _, _ = self.expected.tile(self.program)
        for step, (raw, read) in enumerate(zip(self._raw(reading), self._read(reading), strict=True)):
            judged = [name for name in self._ends[0] if name in steady]
            assigned = {*reading.holding.keys, *_known(read)}
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

    def _maximal(self, reading: _Reading, step: int) -> bool:
        """Whether a tile that the kernel holds shows that m is the largest of its scores so far."""
        at = reading.sequence.steps[step]
        if not isinstance(at, Pass) or not {"m"} <= reading.holding.moving:
            return False
        _, rows, height = self.expected.tile(self.program)
        raw = self._raw(reading)
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

    def _left_out(self, reading: _Reading) -> tuple[tuple[int, int], ...]:
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


def _last_resort(holding: Holding) -> tuple[int, int]:
    """What decides between variables that hold the same: being there before the first step, and the stub's names."""
    return -holding.carried, -holding.named


def _known(state: State) -> list[str]:
    """The parts of a state that hold something."""
    return [role for role, x in state.items() if not torch.isnan(x).all()]


def _gap(got: torch.Tensor, other: torch.Tensor, rows: slice) -> float:
    """How far two tensors lie apart at most; infinitely far if one is not a number where the other is."""
    gap = (got - other)[rows].abs()
    return float(torch.where(got[rows] == other[rows], 0.0, torch.nan_to_num(gap, nan=torch.inf)).max())


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
