"""From a worker's reply to a verdict on one check."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from types import MappingProxyType
from typing import Any

import torch

from autograder.catalogue import Check, Exercise
from autograder.errors import CourseError
from autograder.judge.compare import Comparison, compare
from autograder.judge.diagnosis import UNWRITTEN, Probe
from autograder.judge.modelled import Modelled
from autograder.judge.oracles import Oracle, Tensors
from autograder.judge.region import Layout
from autograder.judge.tensors import from_raw, to_raw, unwritten
from autograder.protocol import RAN, CheckJob, CheckReply
from autograder.result import NAN_COMES_OF, NAN_COMES_OF_MASKS, RIGHT_BUT

# What the worker calls a violation is, for the student, a failed check: the kernel ran and did what it must not.
_OUTCOME = {"violation": "fail"}


# What the interpreter, which runs one program after another, gets right by its order alone.
_PROGRAMS = "On a GPU programs run at once and in any order: each element of an output is for one program alone."
_DISPUTES = {
    "stores_twice": "one store has several values for {place} of {output}. On a GPU any of them may be the last.",
    "stores_of_another": f"different programs store different values to {{place}} of {{output}}. {_PROGRAMS}",
    "stores_of_other_lanes": (
        "a program stores different values to {place} of {output}, with tiles of two arrangements. On a GPU other "
        "threads make the later store, perhaps before the first: store each element once."
    ),
    "loads_of_another": f"a program reads {{place}} of {{output}}, which another program has stored. {_PROGRAMS}",
    "loads_of_other_lanes": (
        "a program stores {place} of {output} and reads it back with a tile of another arrangement. On a GPU other "
        "threads read it, perhaps before it is stored: keep such values in tiles."
    ),
}


@dataclass(frozen=True, slots=True)
class Verdict:
    """How a check ended: ``outcome`` is a check outcome of the result document."""

    outcome: str
    message: str
    line: int | None = None
    measurements: Mapping[str, Any] = field(default_factory=dict)
    where: Mapping[str, Any] | None = None


class Case:
    """One check with its inputs: makes the worker's part, and judges what comes back, from any number of hand-ins."""

    def __init__(self, exercise: Exercise, check: Check, oracle: Oracle, seed: int) -> None:
        self._exercise = exercise
        self._check = check
        self._oracle = oracle
        self._inputs: Tensors = oracle.inputs(check, seed)
        self._modelled = Modelled()

    @property
    def inputs(self) -> Tensors:
        return self._inputs

    @cached_property
    def job(self) -> CheckJob:
        """What the worker gets to see."""
        return CheckJob(self._check.id, self._check.case, {name: to_raw(x) for name, x in self._inputs.items()})

    def judge(self, reply: CheckReply) -> Verdict:
        """The verdict on a reply."""
        if reply.outcome != RAN:
            outcome = _OUTCOME.get(reply.outcome, reply.outcome)
            return Verdict(outcome, reply.message, reply.line)
        comparisons = self._compare({name: from_raw(raw) for name, raw in reply.outputs.items()}, reply.measurements)
        measurements: dict[str, Any] = {**reply.measurements, "seconds": reply.seconds}
        worst = max(comparisons, key=lambda item: _share_of_bar(item), default=None)
        if worst is not None:
            measurements.update(worst.measurements)
        failed = [item for item in comparisons if not item.ok]
        message = " ".join(item.message for item in failed[:2])
        where = next((item.where for item in failed if item.where is not None), None)
        if where is not None and len(failed) > 1:
            where = {**where, "whole": False}
        if not failed:
            shares, others = self._limits()
            message = (
                self._over_limit(reply.measurements, others)
                or _disputed(reply)
                or self._over_limit(reply.measurements, shares)
            )
        return Verdict("fail" if message else "pass", message, None, measurements, where)

    @cached_property
    def _right(self) -> tuple[Tensors, Tensors]:
        """The right values in float64, and what unfused torch makes of the inputs.

        Raises:
            CourseError: the exercise has an output compared that its oracle knows nothing of.
        """
        right = self._oracle.exact(self._check, self._inputs)
        if unknown := [name for name in self._exercise.compare if name not in right]:
            raise CourseError(
                f"{self._exercise.folder / 'exercise.toml'}: [compare] names {unknown[0]!r}, and oracle.py has values "
                f"for {', '.join(right) or 'nothing'} only."
            )
        return right, self._oracle.plain(self._check, self._inputs)

    def right_outputs(self, reply: CheckReply) -> Mapping[str, bool] | None:
        """Whether each compared output is right; None where the kernel did not come to its end.

        An output that this case has nothing of, as a property of pairs where there is no pair, is not among them.
        """
        if reply.outcome != RAN:
            return None
        outputs = {name: from_raw(raw) for name, raw in reply.outputs.items()}
        return {item.name: item.ok for item in self._compare(outputs) if self._right[0][item.name].numel()}

    def wrong_rows(self, reply: CheckReply) -> Mapping[str, list[tuple[int, int]]]:
        """The rows in which each output that fails is wrong, in spans, by what messages call it; sixteen at most."""
        outputs = {name: from_raw(raw) for name, raw in reply.outputs.items()}
        return {
            self._exercise.labels.get(item.name, item.name): [(first, last) for first, last in item.where["rows"]]
            for item in self._compare(outputs)
            if not item.ok and item.where is not None
        }

    def probe(self, reply: CheckReply) -> Probe | None:
        """What the diagnosis gets to see of a reply; None where it tells nothing.

        A kernel that is stopped for what it does has no output, which models say by giving +inf everywhere.
        """
        right = self._right[0]
        if reply.outcome == RAN:
            outputs = {name: from_raw(raw) for name, raw in reply.outputs.items()}
            observed = {name: _marked(x, outputs.get(name)) for name, x in self._observed(outputs).items()}
            return Probe(self._check, self._inputs, observed, right, modelled=self._modelled)
        if reply.outcome not in ("violation", "compile-error"):
            return None
        nothing = {name: torch.full_like(x.double(), float("inf")) for name, x in right.items()}
        return Probe(self._check, self._inputs, nothing, right, False, reply.message, self._modelled)

    def _observed(self, outputs: dict[str, torch.Tensor]) -> Tensors:
        try:
            return self._oracle.observed(self._check, self._inputs, outputs)
        except (RuntimeError, KeyError, ValueError, IndexError):  # outputs of the wrong shape or name
            return {}

    def _compare(
        self, outputs: dict[str, torch.Tensor], measured: Mapping[str, float] = MappingProxyType({})
    ) -> list[Comparison]:
        exact, plain = self._right
        observed = self._observed(outputs)
        comparisons = []
        for name, kind in self._exercise.compare.items():
            label = self._exercise.labels.get(name, name)
            if name not in observed:
                comparisons.append(Comparison(name, f"No usable {label} came back from the kernel."))
                continue
            got = observed[name]
            raw = outputs.get(name)
            same = raw if raw is not None and raw.shape == got.shape else _part_of(raw, got)
            layout = self._layout(name, exact[name])
            of_nan = self._of_nan(name, outputs, measured)
            slack = self._check.slack
            comparisons.append(compare(name, kind, got, exact[name], plain[name], same, label, layout, of_nan, slack))
        return comparisons

    def _of_nan(self, name: str, outputs: Mapping[str, torch.Tensor], measured: Mapping[str, float]) -> str:
        """Where a NaN in an output may come from: from another output that is read and was not all written, if any."""
        gaps = [
            self._exercise.labels.get(other, other)
            for other, raw in outputs.items()
            if other != name and measured.get(f"total_load.{other}") and bool(unwritten(raw).any())
        ]
        if gaps:
            return f"What was never written in {gaps[0]} reads as nan, and {gaps[0]} is read."
        given = [name for function in self._exercise.functions for name in function.parameters]
        return NAN_COMES_OF_MASKS if any(name.endswith("_ptr") for name in given) else NAN_COMES_OF

    def _layout(self, name: str, exact: torch.Tensor) -> Layout | None:
        """What is known of an output's axes.

        Raises:
            CourseError: the exercise describes more axes than there are, or fewer.
        """
        axes = self._exercise.axes.get(name)
        if axes is None:
            return None
        if len(axes) != exact.ndim:
            raise CourseError(
                f"{self._exercise.folder / 'exercise.toml'}: [axes] describes {len(axes)} axes of {name!r}, and on "
                f"{self._check.id} it has {exact.ndim}."
            )
        return Layout.of(axes, self._check.case)

    def _limits(self) -> tuple[dict[str, float], dict[str, float]]:
        """The limits on one program's share of the work, and the others: who disputes a value is told before shares."""
        limits = self._oracle.limits(self._check)
        shares = {name: bound for name, bound in limits.items() if name.startswith("largest_share.")}
        return shares, {name: bound for name, bound in limits.items() if name not in shares}

    def _over_limit(self, measurements: Mapping[str, float], limits: Mapping[str, float]) -> str:
        """A sentence about the first measurement over its limit, or ""; what was not measured is not judged."""
        for name, bound in limits.items():
            value = measurements.get(name)
            if value is not None and value > bound:
                return f"{RIGHT_BUT}, but {_limit_text(name, value, bound, self._size(name))}"
        return ""

    def _size(self, name: str) -> int:
        """How many elements the tensor has that a measurement is of; 0 if it is none of the case's."""
        tensor = name.partition(".")[2]
        known = self._inputs.get(tensor, self._right[0].get(tensor))
        return known.numel() if known is not None else 0


def _disputed(reply: CheckReply) -> str:
    """Words about an output of which the order of programs or threads decides, or ""."""
    for name, text in _DISPUTES.items():
        for output, raw in reply.outputs.items():
            element = reply.measurements.get(f"{name}.{output}")
            if element is not None:
                place = _element(int(element), raw.shape)
                return f"{RIGHT_BUT} here, but {text.format(place=place, output=output)}"
    return ""


def _element(number: int, shape: tuple[int, ...]) -> str:
    """Element ``number`` of a contiguous tensor in words."""
    if len(shape) != 2 or shape[1] == 0:
        return f"element {number}"
    return f"row {number // shape[1]}, column {number % shape[1]}"


def _marked(observed: torch.Tensor, raw: torch.Tensor | None) -> torch.Tensor:
    """What is observed, with a mark of its own where the output was never written: there it would look like NaN."""
    if raw is None or raw.shape != observed.shape or not (left := unwritten(raw)).any():
        return observed
    return torch.where(left, UNWRITTEN, observed.double())


def _part_of(raw: torch.Tensor | None, got: torch.Tensor) -> torch.Tensor | None:
    """What is compared, if it is a part of what came back, as a matrix without the gaps between its rows; or None."""
    return got if raw is not None and raw.dtype == got.dtype and raw.numel() > got.numel() else None


def _limit_text(name: str, value: float, bound: float, size: int) -> str:
    """A sentence on a measurement over its bound; ``size`` is the number of elements of the tensor it is of, or 0."""
    kind, _, tensor = name.partition(".")
    allowed = f"where at most {bound:.0f} are allowed"
    each = f", {_times(value / size)} for each element" if size else ""
    return {
        "largest_load": f"one load takes {value:.0f} elements of {tensor} at once {allowed}.",
        "total_load": (
            f"{value:,.0f} elements of {tensor} are loaded in all{each}; "
            f"{f'{bound:,.0f} would do' if bound else 'none need be'}."
        ),
        "largest_share": f"one program stores {value:.0f} elements of {tensor} where its part is {bound:.0f} at most. "
        "The other parts are other programs' work: `tl.program_id` tells a program which one it is.",
        "largest_dimension": f"a tile is {value:.0f} long on one side where at most {bound:.0f} is allowed.",
    }.get(kind, f"{name} is {value:.0f} {allowed}.")


def _times(number: float) -> str:
    """``three`` or ``2.4``, of loads for each element."""
    words = ("no", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten")
    near = round(number)
    if abs(number - near) < 0.005:
        return words[near] if near < len(words) else f"{near:,}"
    return f"about {number:.1f}" if number < 100 else f"about {number:,.0f}"


def _share_of_bar(comparison: Comparison) -> float:
    error, bar = comparison.measurements.get("error", 0.0), comparison.measurements.get("bar", 0.0)
    if not comparison.ok:
        return float("inf")
    return error / bar if bar else 0.0
