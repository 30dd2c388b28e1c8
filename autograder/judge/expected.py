"""What an exercise's oracle.py expects of the running state: the states themselves, and when two of them agree."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence
from functools import cached_property
from typing import Any

import torch

from autograder.catalogue import Check
from autograder.judge.oracles import Oracle, Tensors

# Of the bar by which outputs are compared: what is shown to a learner as different should be far from rounding.
_SLACK = 4.0

State = Mapping[str, torch.Tensor]


class Expected:
    """What an exercise's oracle expects of the state on one case.

    Raises:
        CourseError: the oracle lacks what traces need.
    """

    def __init__(self, oracle: Oracle, check: Check, inputs: Tensors) -> None:
        self._oracle = oracle
        self._check = check
        self._inputs = inputs
        self._doubled = {name: x.double() if x.is_floating_point() else x for name, x in inputs.items()}
        self.stub_names: Mapping[str, str] = oracle.name("STATE")
        self.streamed: Sequence[str] = oracle.name("STREAMED")
        self.sums: Sequence[str] = oracle.name("SUMS")
        self.ends: Mapping[str, str] = oracle.name("ENDS") if oracle.has("ENDS") else {}
        self.chunks: Sequence[tuple[int, int]] = oracle.name("chunks")(check.case)
        self.keys = max((last for _, last in self.chunks), default=-1) + 1
        self._kept: dict[tuple[int, tuple[frozenset[int], ...]], tuple[list[State], list[State]]] = {}

    def by_row(self, x: torch.Tensor) -> torch.Tensor:
        """An output as rows, in the order in which `tile` counts them."""
        if not self.has_heads:
            return x
        found: torch.Tensor = self._oracle.name("by_row")(self._check.case, x)
        return found

    def row_of(self, where: Mapping[str, Any]) -> int:
        """The first row in which an output is wrong, as far as a verdict says; as `tile` counts rows."""
        return self.row_of_worst(where) if self.has_heads else int(where["rows"][0][0])

    def row_of_worst(self, where: Mapping[str, Any]) -> int:
        """The row of the element at which a verdict points, as `tile` counts rows."""
        if not self.has_heads:
            return int(where["index"][0])
        if where["output"] not in self.ends:
            return 0
        mark = torch.zeros(self._right[where["output"]].shape, dtype=torch.bool)
        mark[tuple(where["index"])] = True
        return int(self.by_row(mark).nonzero()[0, 0])

    def keys_at(self, program: int) -> Sequence[int]:
        """The row of a streamed input in which each of a program's keys lies; -1 for one that lies in none."""
        if not self._oracle.has("keys_at"):
            return range(self.keys)
        found: Sequence[int] = self._oracle.name("keys_at")(self._check.case, self._inputs, program)
        return found

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

    def states(self, program: int, taken: Sequence[Collection[int]]) -> tuple[list[State], list[State]]:
        """The states after steps that take these keys, in float64, and as unfused torch has them."""
        asked = program, tuple(frozenset(keys) for keys in taken)
        if asked not in self._kept:
            states = self._oracle.name("states")
            keys = [sorted(step) for step in taken]
            exact, plain = (
                list(states(self._check.case, inputs, program, keys)) for inputs in (self._doubled, self._inputs)
            )
            self._kept[asked] = exact, plain
        return self._kept[asked]

    def final(self, program: int) -> tuple[State, State]:
        """The state once all keys are taken, likewise."""
        exact, plain = self.states(program, [range(self.keys)])
        return exact[0], plain[0]

    def readings(self, state: State) -> list[tuple[str, State]]:
        """The state as it is and as it may be kept, each with words for it."""
        return list(self._oracle.name("readings")(state))

    def kept(self, state: State, number: int) -> State:
        """An expected state as it looks in the kernel's variables, if it is kept as reading ``number`` says."""
        found: State = list(self._oracle.name("kept")(state))[number]
        return found

    def invariants(self, state: State) -> State:
        """What every right way to keep a state agrees on."""
        found: State = self._oracle.name("invariants")(state)
        return found

    def roles(self, invariant: str) -> list[str]:
        """The parts of the state that an invariant is made of, by its name."""
        return [role for role in self.stub_names if re.search(rf"\b{role}\b", invariant)]

    def rescaled(self, state: State, exact: State) -> State | None:
        """A state brought to the scale of another, as far as the oracle knows of scales."""
        if not self._oracle.has("rescaled"):
            return None
        found: State = self._oracle.name("rescaled")(state, exact["m"])
        return found

    def grown(self, before: State, tile: torch.Tensor) -> State:
        """What a tile of scores (rows, keys) makes of parts of a state that need no other."""
        if not self._oracle.has("grown"):
            return {}
        found: State = self._oracle.name("grown")(before, tile)
        return found

    @property
    def has_heads(self) -> bool:
        """Whether rows are counted through more than one axis of an output."""
        return self._oracle.has("by_row")

    def outputs(self) -> tuple[Tensors, Tensors]:
        """The right outputs that are made of a last state, by rows: in float64, and as unfused torch has them."""
        exact, plain = self._right, self._oracle.plain(self._check, self._inputs)
        return self._ends_by_row(exact), self._ends_by_row(plain)

    @cached_property
    def _right(self) -> Tensors:
        return self._oracle.exact(self._check, self._inputs)

    def own_by_row(self, outputs: Tensors) -> Tensors:
        """A kernel's outputs that are made of a last state, by rows; one of another shape is left out."""
        shapes = {name: x.shape for name, x in self._right.items()}
        return self._ends_by_row({name: x for name, x in outputs.items() if x.shape == shapes.get(name)})

    def _ends_by_row(self, outputs: Tensors) -> Tensors:
        return {name: self.by_row(x) for name, x in outputs.items() if name in self.ends}

    def given(self, program: int, chunk: int) -> tuple[State, State]:
        """What a function that takes a chunk in is given, by its parameters' names: in float64, and as torch has it."""
        if not self._oracle.has("given"):
            return {}, {}
        exact, plain = (
            self._oracle.name("given")(self._check.case, inputs, program, chunk)
            for inputs in (self._doubled, self._inputs)
        )
        return exact, plain


def wrong(got: torch.Tensor, exact: torch.Tensor, plain: torch.Tensor, slack: float = _SLACK) -> torch.Tensor:
    """Which elements are further from their value than rounding; not finite ones have to be the same."""
    finite = torch.isfinite(exact)
    if not finite.any():
        return ~(got == exact)
    gap = torch.nan_to_num((plain.double() - exact)[finite].abs(), nan=0.0, posinf=0.0)
    eps = torch.finfo(plain.dtype).eps
    bar = slack * max(4 * float(gap.max()), 8 * eps * float(exact[finite].abs().max()))
    return ~torch.where(finite, (got - exact).abs() <= bar, got == exact)
