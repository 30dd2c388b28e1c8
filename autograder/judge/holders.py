"""Which variables, or places among what a function returns, may hold each part of a running state."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache

import torch

from autograder.judge.expected import Expected, State
from autograder.judge.sequences import Sequenced
from autograder.judge.tensors import from_raw
from autograder.recording import Call, Held, Pass, Recording

_MOST_COMBINATIONS = 800


class Tiles:
    """The tiles of a recording as tensors of float64, fitted to a shape."""

    def __init__(self, recording: Recording) -> None:
        self._raw = recording.tiles
        self._fit = lru_cache(maxsize=None)(self._fitted)

    def fit(self, tile: int, shape: tuple[int, ...]) -> torch.Tensor | None:
        """A tile as one of that shape; None if it is of another.  A tile may be kept transposed."""
        return self._fit(tile, shape)

    def of_height(self, tile: int, height: int) -> torch.Tensor | None:
        """A tile (height, ...) of two dimensions; None if it is no such thing."""
        shape = self._raw[tile].shape
        if len(shape) != 2 or height not in shape:
            return None
        return self.fit(tile, shape if shape[0] == height else (height, shape[0]))

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


@dataclass(frozen=True, slots=True)
class Holding:
    """``keys`` are the variables or places, by part; a part may have none.

    ``carried`` is how many of them are there before the first step, ``moving`` the parts that each loop assigns, and
    ``named`` how many have the stub's name.
    """

    keys: Mapping[str, str]
    carried: int
    moving: frozenset[str]
    named: int


def held(step: Pass | Call) -> Mapping[str, Held]:
    """All that a step is known to hold, by the variable's name or by its place."""
    if isinstance(step, Pass):
        return step.variables
    return {str(place): item for place, item in enumerate(step.returned) if item is not None}


def raw_state(
    expected: Expected, tiles: Tiles, sequence: Sequenced, holding: Holding, step: int, program: int, like: State
) -> State:
    """The state after a step in the rows that exist; NaN for the parts that no variable holds."""
    _, rows, height = expected.tile(program)
    variables = held(sequence.steps[step])
    found = {}
    for role, x in like.items():
        fitted = None
        if role in holding.keys:
            fitted = tiles.fit(variables[holding.keys[role]].tile, (height, *x.shape[1:]))
        found[role] = torch.full_like(x, float("nan")) if fitted is None else fitted[:rows]
    return found


def holdings(
    expected: Expected, sequence: Sequenced, tiles: Tiles, program: int, like: State, whole: bool
) -> Iterator[Holding]:
    """All combinations of what fits by its shape; with a part in none too, unless they have to be ``whole``."""
    height = expected.tile(program)[2]
    steps = [held(step) for step in sequence.steps]
    if not steps:
        return
    first = held(sequence.before) if sequence.before is not None else {}
    choices: list[list[str | None]] = []
    for place, (role, x) in enumerate(like.items()):
        shape = (height, *x.shape[1:])
        fitting = [key for key in steps[0] if all(key in step and _fits(tiles, step[key], shape) for step in steps)]
        if sequence.direct:
            fitting = [key for key in fitting if key == str(place)]
        stub_name = expected.stub_names[role]
        fitting.sort(key=lambda key: (key != stub_name, key not in first))
        # What is the same tile after each step is one variable by two names.
        alike = {tuple(step[key].tile for step in steps): key for key in reversed(fitting)}
        choices.append([*(key for key in fitting if key in alike.values()), *([] if whole else [None])])
    for keys in itertools.islice(itertools.product(*choices), _MOST_COMBINATIONS):
        used = {role: key for role, key in zip(like, keys, strict=True) if key is not None}
        if used and len(set(used.values())) == len(used):
            yield Holding(
                used,
                carried=sum(key in first for key in used.values()),
                moving=frozenset(role for role, key in used.items() if _moves(key, sequence)),
                named=sum(key == expected.stub_names[role] for role, key in used.items()),
            )


def _fits(tiles: Tiles, item: Held, shape: tuple[int, ...]) -> bool:
    return tiles.fit(item.tile, shape) is not None


def _moves(key: str, sequence: Sequenced) -> bool:
    """Whether each of the loops assigns a variable anew."""
    before = None if sequence.before is None else held(sequence.before).get(key)
    tiles = [None if before is None else before.tile]
    moved: dict[int, bool] = {}
    for step in sequence.steps:
        loop = step.loop if isinstance(step, Pass) else 0
        tiles.append(held(step)[key].tile)
        moved[loop] = moved.get(loop, False) or tiles[-1] != tiles[-2]
    return all(moved.values())
