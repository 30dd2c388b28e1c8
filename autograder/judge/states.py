"""A recorded running state against the expected one: which variables hold it, and where it first differs.

The exercise's oracle.py says what the state stands for after each chunk, in float64, and what every right way to keep
it agrees on.  A state is called different only if the output is wrong too.
"""

from __future__ import annotations

import itertools
import math
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import torch

from autograder.catalogue import Check
from autograder.judge.oracles import Oracle, Tensors
from autograder.judge.sequences import Sequenced, sequences
from autograder.judge.tensors import from_raw
from autograder.recording import Call, Held, Pass, Recording

# Of the bar by which outputs are compared: what is shown to a learner as different should be far from rounding.
_SLACK = 4.0
_MOST_COMBINATIONS = 400

State = Mapping[str, torch.Tensor]


@dataclass(frozen=True, slots=True)
class Finding:
    """The first state that is not as expected; ``index`` is a row of the output, and the column where there is one."""

    step: int
    name: str
    roles: tuple[str, ...]
    index: tuple[int, ...]
    got: float
    expected: float


@dataclass(frozen=True, slots=True)
class Comparison:
    """What was read out of a recording, for one program.

    ``order`` holds the number of the chunk of each step, ``got`` and ``expected`` the state after it as the kernel's
    variables hold it, ``same`` whether they agree, ``holders`` the variable of each part of the state and the tile in
    it, by step.  ``reading`` says how the state is kept, if not as expected, and ``last`` is what it stands for then
    after the last step.
    """

    program: int
    first_row: int
    sequence: Sequenced
    order: tuple[int | None, ...]
    got: tuple[State, ...]
    expected: tuple[State, ...]
    same: tuple[bool, ...]
    holders: tuple[Mapping[str, tuple[str | None, Held]], ...]
    reading: str
    rescaled: bool
    finding: Finding | None
    left_out: tuple[int, ...]
    last: State

    @property
    def length(self) -> int:
        """The number of steps before the first that differs."""
        return next((step for step, same in enumerate(self.same) if not same), len(self.same))


class Expected:
    """What an exercise's oracle expects of the state on one case."""

    def __init__(self, oracle: Oracle, check: Check, inputs: Tensors) -> None:
        self._oracle = oracle
        self._check = check
        self._inputs = inputs
        self._doubled = {name: x.double() if x.is_floating_point() else x for name, x in inputs.items()}
        self.stub_names: Mapping[str, str] = oracle.name("STATE")
        self.streamed: Sequence[str] = oracle.name("STREAMED")
        self.chunks: Sequence[tuple[int, int]] = oracle.name("chunks")(check.case)
        self._readings = oracle.name("readings")
        self._kept = oracle.name("kept")
        self._invariants = oracle.name("invariants")

    def tile(self, program: int) -> tuple[int, int, int]:
        """A program's first row, the number of its rows, and the height of its tile."""
        first, rows, height = self._oracle.name("tile")(self._check.case, program)
        return first, rows, height

    def program_of(self, row: int, programs: Sequence[int]) -> int | None:
        """The program whose tile holds a row."""
        for program in programs:
            first, rows, _ = self.tile(program)
            if first <= row < first + rows:
                return program
        return None

    def states(self, program: int, order: Sequence[int]) -> tuple[list[State], list[State]]:
        """The states before and after each chunk, in float64, and as unfused torch has them at the inputs' dtype."""
        states = self._oracle.name("states")
        exact, plain = (
            list(states(self._check.case, inputs, program, order)) for inputs in (self._doubled, self._inputs)
        )
        return exact, plain

    def readings(self, state: State) -> list[tuple[str, State]]:
        """The state as it is and as it may be kept, each with words for it."""
        return list(self._readings(state))

    def kept(self, state: State, number: int) -> State:
        """An expected state as it looks in the kernel's variables, if it is kept as reading ``number`` says."""
        found: State = list(self._kept(state))[number]
        return found

    def agreeing(self, state: State, outputs: State, program: int) -> int:
        """How many of a kernel's outputs are what its last state makes of them, in a program's rows."""
        if not self._oracle.has("ends"):
            return 0
        first, rows, _ = self.tile(program)
        made: State = self._oracle.name("ends")(state)
        return sum(
            torch.allclose(outputs[name][first : first + rows].double(), x, 1e-3, 1e-5, equal_nan=True)
            for name, x in made.items()
            if name in outputs and outputs[name].shape[1:] == x.shape[1:]
        )

    def invariants(self, state: State) -> State:
        found: State = self._invariants(state)
        return found

    def given(self, program: int, chunk: int) -> tuple[State, State]:
        """What a function that takes a chunk in is given, by its parameters' names: in float64, and as torch has it."""
        if not self._oracle.has("given"):
            return {}, {}
        exact, plain = (
            self._oracle.name("given")(self._check.case, inputs, program, chunk)
            for inputs in (self._doubled, self._inputs)
        )
        return exact, plain

    def rows_of(self, name: str, span: tuple[int, int]) -> tuple[int, int]:
        """The first and last row of an input that a span of its elements touches."""
        width = max(1, math.prod(self._inputs[name].shape[1:]))
        return span[0] // width, span[1] // width

    def chunk_of(self, name: str, span: tuple[int, int]) -> int | None:
        """The chunk that a load from a streamed input takes, if it lies in one."""
        first, last = self.rows_of(name, span)
        for number, (start, end) in enumerate(self.chunks):
            if start == first and last <= end:
                return number
        return None


def compare_states(
    expected: Expected,
    recording: Recording,
    functions: Sequence[str],
    program: int,
    row: int | None = None,
    outputs: State | None = None,
) -> Comparison | None:
    """The best reading of a recording for one program, in all of its rows or in one; None if none fits.

    Where no reading of the variables is right throughout, the kernel's own ``outputs`` tell which one it goes by.

    Raises:
        CourseError: the oracle lacks what traces need.
    """
    tiles = _Tiles(recording)
    best: tuple[tuple[Any, ...], Comparison] | None = None
    for sequence in sequences(recording, functions, program, len(expected.stub_names)):
        order = _order(expected, sequence)
        known, plain = expected.states(program, order)
        for assignment in _assignments(expected, sequence, tiles, program, known[0]):
            read = [
                _compare(expected, sequence, assignment, tiles, program, order, known, plain, number, row)
                for number in range(len(expected.readings(known[0])))
            ]
            number, compared = max(
                enumerate(read),
                key=lambda item: (
                    all(item[1].same),
                    expected.agreeing(item[1].last, outputs or {}, program),
                    item[1].length,
                    -item[0],
                ),
            )
            score = (
                sequence.direct,
                # A loop that agrees in all it does, and leaves chunks out, may have a function do the rest.
                compared.length if all(compared.same) or not sequence.helper else -1,
                not sequence.helper,
                assignment.carried,
                assignment.moving,
                assignment.named,
                -number,
                sequence.line,
            )
            if best is None or score > best[0]:
                best = score, compared
    return best[1] if best is not None else None


@dataclass(frozen=True, slots=True)
class _Assignment:
    """Which variable, or place among what is returned, holds each part of the state."""

    keys: Mapping[str, str]
    carried: int
    moving: int
    named: int


class _Tiles:
    """The tiles of a recording as tensors of float64, fitted to a shape."""

    def __init__(self, recording: Recording) -> None:
        self._raw = recording.tiles
        self._fit = lru_cache(maxsize=None)(self._fitted)

    def fit(self, tile: int, shape: tuple[int, ...]) -> torch.Tensor | None:
        """A tile as one of that shape; None if it is of another.  A tile may be kept transposed."""
        return self._fit(tile, shape)

    def _fitted(self, tile: int, shape: tuple[int, ...]) -> torch.Tensor | None:
        raw = self._raw[tile]
        if not raw.dtype.startswith(("float", "bfloat")):
            return None
        if raw.shape == shape:
            return from_raw(raw).double()
        if len(shape) == 1 and sorted(raw.shape) == sorted((*shape, 1)):
            return from_raw(raw).double().reshape(shape)
        if len(shape) == 2 and raw.shape == shape[::-1]:
            return from_raw(raw).double().T
        return None


def _order(expected: Expected, sequence: Sequenced) -> list[int]:
    """The numbers of the chunks in the order in which a loop takes them, as its loads show; the rest follow.

    A loop that takes one chunk twice, or anything but chunks, is expected to take them as they come.
    """
    taken = []
    for step in sequence.steps:
        loads = step.loads if isinstance(step, Pass) else {}
        numbers = {expected.chunk_of(name, loads[name]) for name in expected.streamed if name in loads}
        taken.append(numbers.pop() if len(numbers) == 1 else None)
    count = len(expected.chunks)
    known = [number for number in taken if number is not None]
    if not known or len(known) < len(taken) or len(set(known)) < len(known):
        return list(range(count))
    return [*known, *(number for number in range(count) if number not in known)]


def _assignments(
    expected: Expected, sequence: Sequenced, tiles: _Tiles, program: int, before: State
) -> Iterator[_Assignment]:
    """The ways in which variables may hold the state: those of the stub's names, else all whose shapes fit."""
    height = expected.tile(program)[2]
    shapes = {role: (height, *x.shape[1:]) for role, x in before.items()}
    held = [_held(step) for step in sequence.steps]
    if not held:
        return
    first = _held(sequence.before) if sequence.before is not None else {}
    choices: list[list[str]] = []
    for place, (role, shape) in enumerate(shapes.items()):
        fitting = [
            key for key in held[0] if all(key in step and tiles.fit(step[key].tile, shape) is not None for step in held)
        ]
        if sequence.by_place:
            fitting = [key for key in fitting if key == str(place)]
        elif expected.stub_names[role] in fitting and expected.stub_names[role] in first:
            if len({step[expected.stub_names[role]].tile for step in held}) > 1 or len(held) == 1:
                fitting = [expected.stub_names[role]]
        elif any(key in first for key in fitting):
            fitting = [key for key in fitting if key in first]
        choices.append(fitting)
    for keys in itertools.islice(itertools.product(*choices), _MOST_COMBINATIONS):
        if len(set(keys)) < len(keys):
            continue
        named = dict(zip(shapes, keys, strict=True))
        yield _Assignment(
            named,
            carried=sum(key in first for key in keys),
            moving=sum(len({step[key].tile for step in held}) == len(held) for key in keys),
            named=sum(named[role] == name for role, name in expected.stub_names.items()),
        )


def _held(step: Pass | Call) -> Mapping[str, Held]:
    if isinstance(step, Pass):
        return step.variables
    return {str(place): held for place, held in enumerate(step.returned) if held is not None}


def _compare(
    expected: Expected,
    sequence: Sequenced,
    assignment: _Assignment,
    tiles: _Tiles,
    program: int,
    order: Sequence[int],
    known: Sequence[State],
    plain: Sequence[State],
    number: int,
    row: int | None,
) -> Comparison:
    first, rows, height = expected.tile(program)
    wanted = slice(0, rows) if row is None else slice(row - first, row - first + 1)
    got: list[State] = []
    same: list[bool] = []
    rescaled = False
    finding: Finding | None = None
    reading, read = "", known[0]
    for place, step in enumerate(sequence.steps):
        held = _held(step)
        raw = {}
        for role, x in known[0].items():
            fitted = tiles.fit(held[assignment.keys[role]].tile, (height, *x.shape[1:]))
            assert fitted is not None
            raw[role] = fitted[:rows]
        reading, read = expected.readings(raw)[number]
        after = min(place + 1, len(known) - 1)
        judged = _judge(expected, read, known[after], plain[after], wanted)
        rescaled = rescaled or (judged is None and not _alike(read, known[after], plain[after], wanted))
        got.append(raw)
        same.append(judged is None)
        if judged is not None and finding is None:
            name, roles, index, value, right = judged
            if name in raw:  # in the unit in which the kernel keeps it, as in the table
                value = float(raw[name][wanted][index])
                right = float(expected.kept(known[after], number)[name][wanted][index])
            finding = Finding(place, name, roles, (first + wanted.start + index[0], *index[1:]), value, right)
    count = len(sequence.steps)
    numbers = [order[place] if place < len(order) else None for place in range(count)]
    left = () if finding is not None else _left_out(expected, known, plain, order, count, wanted)
    keys = assignment.keys
    holders = [
        {role: (None if sequence.by_place else key, _held(step)[key]) for role, key in keys.items()}
        for step in sequence.steps
    ]
    return Comparison(
        program,
        first,
        sequence,
        tuple(numbers),
        tuple(got),
        tuple(expected.kept(known[min(place + 1, len(known) - 1)], number) for place in range(count)),
        tuple(same),
        tuple(holders),
        reading,
        rescaled,
        finding,
        left,
        read,
    )


_Judged = tuple[str, tuple[str, ...], tuple[int, ...], float, float]


def _judge(expected: Expected, got: State, exact: State, plain: State, rows: slice) -> _Judged | None:
    """None if a state stands for what it should; else what is wrong with it, in its worst row.

    A part that is not as expected, while something that holds depends on it, is only kept in another scale.
    """
    if _alike(got, exact, plain, rows):
        return None
    values, rights, plains = (expected.invariants(state) for state in (got, exact, plain))
    wrong = {name: _wrong(values[name], rights[name], plains[name])[rows] for name in rights}
    failing = [name for name, where in wrong.items() if where.any()]
    if not failing:
        return None
    roles = {name: [role for role in exact if re.search(rf"\b{role}\b", name)] for name in rights}
    different = [role for role in exact if _wrong(got[role], exact[role], plain[role])[rows].any()]
    harmless = {role for name in rights if name not in failing for role in roles[name] if role in different}
    guilty = [role for role in different if role not in harmless and any(role in roles[name] for name in failing)]
    if guilty and not harmless:
        return _worst(guilty[0], (guilty[0],), got[guilty[0]], exact[guilty[0]], plain[guilty[0]], rows)
    name = failing[0]
    blamed = tuple(guilty or roles[name])
    return _worst(name, blamed, values[name], rights[name], plains[name], rows)


def _worst(
    name: str, roles: tuple[str, ...], got: torch.Tensor, exact: torch.Tensor, plain: torch.Tensor, rows: slice
) -> _Judged:
    wrong = _wrong(got, exact, plain)[rows]
    gap = torch.nan_to_num((got - exact)[rows].abs(), nan=torch.inf)
    flat = torch.where(wrong, gap, -1.0).argmax()
    index = tuple(int(i) for i in torch.unravel_index(flat, wrong.shape))
    return name, roles, index, float(got[rows][index]), float(exact[rows][index])


def _alike(got: State, exact: State, plain: State, rows: slice) -> bool:
    return not any(_wrong(got[role], exact[role], plain[role])[rows].any() for role in exact)


def _wrong(got: torch.Tensor, exact: torch.Tensor, plain: torch.Tensor) -> torch.Tensor:
    """Which elements are further from their value than rounding; not finite ones have to be the same."""
    finite = torch.isfinite(exact)
    if not finite.any():
        return ~(got == exact)
    gap = torch.nan_to_num((plain.double() - exact)[finite].abs(), nan=0.0, posinf=0.0)
    eps = torch.finfo(plain.dtype).eps
    bar = _SLACK * max(4 * float(gap.max()), 8 * eps * float(exact[finite].abs().max()))
    return ~torch.where(finite, (got - exact).abs() <= bar, got == exact)


def _left_out(
    expected: Expected, known: Sequence[State], plain: Sequence[State], order: Sequence[int], count: int, rows: slice
) -> tuple[int, ...]:
    """The chunks that no step takes in, if they count for anything in these rows."""
    if count >= len(order):
        return ()
    if _judge(expected, known[count], known[-1], plain[-1], rows) is None:
        return ()
    rest = [
        number
        for place, number in enumerate(order[count:], count)
        if any(not torch.equal(known[place][role], known[place + 1][role]) for role in known[0])
    ]
    return tuple(rest)


def wrongly_given(
    expected: Expected, recording: Recording, call: Call, program: int, chunk: int, row: int
) -> tuple[str, tuple[int, int], float, float] | None:
    """The first argument of a call that is not what it should have been: its name, row and column, got and expected.

    If it is wrong in ``row`` too, that row is told of.
    """
    exact, plain = expected.given(program, chunk)
    tiles = _Tiles(recording)
    first, rows, height = expected.tile(program)
    for name, right in exact.items():
        if name not in call.arguments:
            continue
        got = tiles.fit(call.arguments[name], (height, *right.shape[1:]))
        if got is None or not (wrong := _wrong(got[:rows], right, plain[name])).any():
            continue
        shown = slice(row - first, row - first + 1) if wrong[row - first].any() else slice(0, rows)
        _, _, (place, column), value, wanted = _worst(name, (), got[:rows], right, plain[name], shown)
        return name, (first + shown.start + place, column), value, wanted
    return None
