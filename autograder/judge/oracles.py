"""An exercise's oracle.py, loaded by path, and the deterministic inputs of each check."""

from __future__ import annotations

import hashlib
import hmac
import types
from collections.abc import Callable, Mapping
from functools import lru_cache
from pathlib import Path
from typing import Any

import torch

from autograder.catalogue import Check, Exercise
from autograder.errors import CourseError

# One thread adds up in one order: the bar, which is made of torch's own error, is the same in every run.
torch.set_num_threads(1)

Tensors = Mapping[str, torch.Tensor]


class Oracle:
    """The functions of one oracle.py.

    ``make_inputs(case, generator)`` gives the inputs; ``oracle(case, inputs)`` the right values in the precision of
    its inputs; optional ``observe(case, inputs, outputs)`` maps a kernel's outputs to what is compared (default: the
    outputs themselves), and optional ``limits(case)`` bounds the worker's measurements.  What traces need and the file
    does not have comes from the oracle of the exercise that it calls STATE_OF.

    Raises:
        CourseError: the file cannot be loaded or lacks a function.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        module = types.ModuleType(f"oracle_{path.parent.name}")
        module.__file__ = str(path)
        try:
            exec(compile(path.read_text(encoding="utf-8"), str(path), "exec"), module.__dict__)
            self._make_inputs = module.__dict__["make_inputs"]
            self._oracle = module.__dict__["oracle"]
        except KeyError as error:
            raise CourseError(f"{path} has no function {error.args[0]}.") from error
        except Exception as error:
            raise CourseError(f"{path} cannot be loaded: {error!r}") from error
        self._observe = module.__dict__.get("observe")
        self._limits = module.__dict__.get("limits")
        self._names: Mapping[str, Any] = module.__dict__
        like = module.__dict__.get("STATE_OF")
        self._like = load_oracle(path.parents[1] / like / path.name) if like is not None else None

    def inputs(self, check: Check, seed: int) -> Tensors:
        """The check's input tensors, the same for the same seed on every machine.

        Raises:
            CourseError: the case is not one for which there are inputs.
        """
        generator = torch.Generator().manual_seed(seed)
        return self._called(check, self._make_inputs, generator)

    def exact(self, check: Check, inputs: Tensors) -> Tensors:
        """The right values, computed in float64.

        Raises:
            CourseError: the oracle fails.
        """
        doubled = {name: x.double() if x.is_floating_point() else x for name, x in inputs.items()}
        return self._called(check, self._oracle, doubled)

    def plain(self, check: Check, inputs: Tensors) -> Tensors:
        """What unfused torch on CPU makes of the inputs at their own dtype.

        Raises:
            CourseError: the oracle fails.
        """
        return self._called(check, self._oracle, inputs)

    def _called(self, check: Check, function: Callable[[Mapping[str, Any], Any], Tensors], argument: Any) -> Tensors:
        try:
            return function(check.case, argument)
        except Exception as error:
            raise CourseError(
                f"{self._path} fails on the case of {check.id}: {error!r}. Mend the case or it."
            ) from error

    def observed(self, check: Check, inputs: Tensors, outputs: Tensors) -> Tensors:
        """What is compared with the oracle's values."""
        if self._observe is None:
            return outputs
        values: Tensors = self._observe(check.case, inputs, outputs)
        return values

    def has(self, name: str) -> bool:
        return name in self._names or (self._like is not None and self._like.has(name))

    def name(self, name: str) -> Any:
        """What the file, or the one whose state is the same, calls ``name``: of that which only `grade trace` needs.

        Raises:
            CourseError: there is nothing of that name.
        """
        if not self.has(name):
            raise CourseError(f"{self._path} has no {name}, which the traces of exercise.toml need.")
        if name in self._names:
            return self._names[name]
        assert self._like is not None
        return self._like.name(name)

    def limits(self, check: Check) -> Mapping[str, float]:
        """Upper bounds of the worker's measurements, by name."""
        if self._limits is None:
            return {}
        bounds: Mapping[str, float] = self._limits(check.case)
        return bounds


@lru_cache(maxsize=256)
def load_oracle(path: Path) -> Oracle:
    """The oracle at ``path``; loaded once a process."""
    return Oracle(path)


def check_seed(exercise: Exercise, check: Check, seed: int, secret: bytes | None) -> int:
    """The seed of one check's inputs: from the run's seed and, for a hidden check, the course's secret."""
    text = f"{seed}:{exercise.id}:{check.seed_of or check.id}".encode()
    if check.hidden and secret is not None:
        digest = hmac.new(secret, text, hashlib.sha256).digest()
    else:
        digest = hashlib.sha256(text).digest()
    return int.from_bytes(digest[:8], "little") >> 1
