"""Which variables of a recording hold the running state: shown by what comes of them after the last step.

They hold it if they then amount to what is expected at the end, or to the kernel's own output.  What is not shown in
this way is not judged.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property

import torch

from autograder.judge.blame import differing
from autograder.judge.expected import Expected, State, wrong
from autograder.judge.holders import Holding, Tiles, holdings, raw_state
from autograder.judge.sequences import Sequenced
from autograder.judge.taken import Taken, ways_taken
from autograder.recording import Recording

_MOST_ALIKE = 3  # holdings that amount to the same, of which each is looked at

# What the state after the last step stands for, by invariant.
RIGHT = "right"  # for what is expected
MADE = "made"  # for the kernel's output, which is wrong
NEAR = "near"  # for both, and the kernel's output is nearer


@dataclass(frozen=True)
class Reading:
    """A sequence with the variables that hold its state, read in one way, and what each invariant amounts to."""

    sequence: Sequenced
    holding: Holding
    number: int
    status: Mapping[str, str]
    taken: Taken | None = None
    certain: bool = True


@dataclass(frozen=True)
class Recogniser:
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

    def readings(self, sequence: Sequenced) -> list[Reading]:
        """The readings of a sequence that amount to something, each with the keys that fit it best."""
        alike: dict[frozenset[str], list[Reading]] = {}
        like = self.final[0]
        last = len(sequence.steps) - 1
        for holding in holdings(self.expected, sequence, self.tiles, self.program, like, whole=sequence.direct):
            raw = raw_state(self.expected, self.tiles, sequence, holding, last, self.program, like)
            for number, (_, read) in enumerate(self.expected.readings(raw)):
                if sequence.direct:
                    status = dict.fromkeys(self._ends[0], MADE)
                else:
                    status = self._status(self.expected.invariants(read), holding)
                # What a way of keeping it makes of one part shows only where the others come out as well.
                if status and (number == 0 or len(status) == len(self._ends[0])):
                    alike.setdefault(frozenset(status), []).append(Reading(sequence, holding, number, status))
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
                    found[name] = MADE
            elif (
                name in self.wrong
                and made is not None
                and _gap(got, made, self.rows) <= _gap(got, exact[name], self.rows)
            ):
                found[name] = NEAR
            else:
                found[name] = RIGHT
        return found

    def _with_keys(self, reading: Reading) -> Reading:
        """A reading with the keys that its steps take; it is not certain if others fit as well."""
        ways = ways_taken(self.expected, reading.sequence)
        scores = []
        for taken in ways:
            known, plain = self.expected.states(self.program, taken.cumulated)
            agreeing = parts = 0
            for step, read in enumerate(self.read(reading)):
                bad = self._bad(read, known[step], plain[step])
                agreeing += sum(name not in bad for name in reading.status)
                off = differing(read, known[step], plain[step], self.rows)
                parts += sum(role not in off for role in reading.holding.keys)
            complete = taken.all >= frozenset(range(self.expected.keys))
            scores.append((agreeing, complete, parts))
        best = max(range(len(ways)), key=lambda place: (scores[place], -place))
        certain = all(score < scores[best] for place, score in enumerate(scores) if place != best)
        return replace(reading, taken=ways[best], certain=certain)

    def raw(self, reading: Reading) -> list[State]:
        like = self.final[0]
        return [
            raw_state(self.expected, self.tiles, reading.sequence, reading.holding, step, self.program, like)
            for step in range(len(reading.sequence.steps))
        ]

    def read(self, reading: Reading) -> list[State]:
        return [self.expected.readings(raw)[reading.number][1] for raw in self.raw(reading)]

    def _bad(self, read: State, known: State, plain: State) -> list[str]:
        values, rights, plains = (self.expected.invariants(state) for state in (read, known, plain))
        return differing(values, rights, plains, self.rows)

    # What a reading is worth ---------------------------------------------------------------------------------------

    def rank(self, reading: Reading) -> tuple[object, ...]:
        """The more of the outputs a reading explains, pass by pass, the better; those that are wrong come first."""
        assert reading.taken is not None
        steady = self.steady(reading)
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

    def steady(self, reading: Reading) -> frozenset[str]:
        """The invariants that can be judged after each step.

        One that is right in the end is right after each step, or the steps are not what they seem: then no other can be
        judged either.
        """
        if reading.sequence.direct:
            return frozenset(reading.status)
        bad = self.bad_by_step(reading)
        steady = {name for name in reading.status if self._adds_up(reading, name)}
        right = {name for name, status in reading.status.items() if status == RIGHT}
        failing = {name for name in right if any(name in step for step in bad)}
        made = {name for name, status in reading.status.items() if status == MADE and not failing}
        return frozenset(steady & ((right - failing) | made))

    def bad_by_step(self, reading: Reading) -> list[list[str]]:
        assert reading.taken is not None
        known, plain = self.expected.states(self.program, reading.taken.cumulated)
        return [self._bad(read, known[step], plain[step]) for step, read in enumerate(self.read(reading))]

    def _adds_up(self, reading: Reading, invariant: str) -> bool:
        """Whether what an invariant is made of grows along the steps; a scale may be known beforehand."""
        holding = reading.holding
        roles = self.expected.roles(invariant)
        if all(role in holding.keys for role in roles):
            return all(role in holding.moving for role in roles if role in self.expected.sums)
        rest = [role for role in self.expected.stub_names if role not in roles or role in holding.keys]
        return all(role in holding.moving for role in rest)


def _last_resort(holding: Holding) -> tuple[int, int]:
    """What decides between variables that hold the same: being there before the first step, and the stub's names."""
    return -holding.carried, -holding.named


def known_parts(state: State) -> list[str]:
    """The parts of a state that hold something."""
    return [role for role, x in state.items() if not torch.isnan(x).all()]


def _gap(got: torch.Tensor, other: torch.Tensor, rows: slice) -> float:
    """How far two tensors lie apart at most; infinitely far if one is not a number where the other is."""
    gap = (got - other)[rows].abs()
    return float(torch.where(got[rows] == other[rows], 0.0, torch.nan_to_num(gap, nan=torch.inf)).max())
