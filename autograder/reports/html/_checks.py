"""Checks and GPU targets as a page shows them: measurements and places in words."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from autograder.catalogue import TARGET_TIER
from autograder.gpu_targets import KNOWN_AS, SHARED_LIMITS
from autograder.reports.html._drawing import Drawing, drawing
from autograder.reports.html._words import Outcome, check_outcome
from autograder.reports.public_view import WORTH_NOTHING_YET, PublicExercise, Share
from autograder.reports.repeats import first_to_say, without_target
from autograder.result import AFTER_A_FAILURE, CheckResult, TargetResult

Facts = tuple[tuple[str, str], ...]
"""Names and values, shown one under the other."""


@dataclass(frozen=True, slots=True)
class CheckView:
    """One public check; ``facts`` are what was measured and where it went wrong, ``drawing`` shows it.

    ``ran`` is False where it did not.
    """

    id: str
    outcome: Outcome
    proves: str
    message: str
    share: Share | None
    measured: str
    facts: Facts
    ran: bool
    drawing: Drawing | None


@dataclass(frozen=True, slots=True)
class TargetView:
    """A GPU target, or several of which the same is to be said; ``original`` is the compiler's own text."""

    name: str
    outcome: Outcome
    used: str
    message: str
    original: str


def check_views(exercise: PublicExercise) -> tuple[CheckView, ...]:
    """All public checks of an exercise, in their order."""
    return tuple(
        _check(check, exercise.shares.get(check.id), before) for check, before in first_to_say(exercise.result.checks)
    )


def target_views(targets: Sequence[TargetResult]) -> tuple[TargetView, ...]:
    """The GPU targets of an exercise; those of which the same is to be said are one."""
    alike: dict[tuple[str, str, str, str], list[str]] = {}
    for item in targets:
        name = f"{KNOWN_AS[item.target]} ({item.target})" if item.target in KNOWN_AS else item.target
        said = without_target(item.message)
        alike.setdefault((item.outcome, _used(item), said, item.original), []).append(name)
    return tuple(
        TargetView(", ".join(names), check_outcome(outcome), used, message, original)
        for (outcome, used, message, original), names in alike.items()
    )


def _check(check: CheckResult, share: Share | None, before: CheckResult | None) -> CheckView:
    """One check; what an earlier one, ``before``, has said is not said again."""
    failed = check.outcome not in ("pass", "skipped")
    quiet = check.message == "Not run." or (check.outcome == "pass" and check.message != WORTH_NOTHING_YET)
    message = "" if quiet else check.message
    told = failed and before is None
    return CheckView(
        id=check.id,
        outcome=check_outcome(check.outcome),
        proves=check.proves,
        message=f"As {before.id} above." if before is not None else message,
        share=share,
        measured="" if failed else _measured(check.measurements),
        facts=(*_place(check.where), *_errors(check.measurements)) if told else (),
        ran=check.outcome != "skipped" or (check.tier == TARGET_TIER and check.message != AFTER_A_FAILURE),
        drawing=drawing(check.where) if told else None,
    )


def _measured(values: Mapping[str, Any]) -> str:
    """``error 2.4e-07, bar 9.5e-06`` of a check that passed."""
    error, bar = _number(values.get("error")), _number(values.get("bar"))
    if error is None or bar is None:
        return ""
    return "matches exactly" if bar == 0 else f"error {error:.2g}, bar {bar:.2g}"


def _errors(values: Mapping[str, Any]) -> Facts:
    error, bar, rms = (_number(values.get(name)) for name in ("error", "bar", "rms"))
    facts = []
    if error is not None:
        facts.append(("Largest error", f"{error:.3g}"))
    if bar is not None:
        facts.append(("Bar", f"{bar:.3g}, {_why(bar, _number(values.get('torch_error')))}"))
    if error is not None and bar and math.isfinite(error) and error > bar:
        facts.append(
            ("Over the bar", f"{error / bar:,.3g} times" if error / bar < 1000 else f"{error / bar:,.0f} times")
        )
    if rms is not None:
        facts.append(("Relative RMS", f"{rms:.2g}"))
    return tuple(facts)


_TIMES = {2: "twice", 4: "four times", 8: "eight times", 16: "sixteen times"}


def _why(bar: float, torch_error: float | None) -> str:
    """The reason for a bar."""
    if bar == 0:
        return "since this must match exactly"
    for times, said in _TIMES.items():
        if torch_error is not None and math.isclose(bar, times * torch_error, rel_tol=1e-6):
            return f"{said} the error of unfused torch ({torch_error:.2g})"
    return "a few roundings of the largest value"


def _place(where: Mapping[str, Any] | None) -> Facts:
    """Output, index, got and expected, and how much is wrong; what is not there is left out."""
    if not where:
        return ()
    facts = []
    index = where.get("index")
    if "output" in where:
        at = f"[{', '.join(str(number) for number in index)}]" if isinstance(index, list) and index else ""
        facts.append(("Where", f"{where['output']}{at}"))
    for name, label in (("got", "Got"), ("expected", "Expected")):
        if (value := _number(where.get(name))) is not None:
            facts.append((label, f"{value:.6g}"))
    if isinstance(where.get("wrong"), int) and isinstance(where.get("of"), int):
        facts.append(("Wrong elements", f"{where['wrong']:,} of {where['of']:,}"))
    return tuple(facts)


def _used(target: TargetResult) -> str:
    parts = []
    if target.shared == 0:
        parts.append("no shared memory needed")
    elif target.shared is not None:
        limit = SHARED_LIMITS.get(target.target)
        parts.append(f"{target.shared / 1024:.3g}{f' of {limit // 1024}' if limit else ''} KB shared memory")
    if target.registers is not None:
        parts.append(f"{target.registers} registers")
    if target.spills:
        parts.append(f"{target.spills} bytes spilled")
    if not parts and target.outcome == "pass":
        return "compiles; its shared memory was not measured"
    return ", ".join(parts)


def _number(value: Any) -> float | None:
    """A measurement, which may be a string where it is not finite."""
    if isinstance(value, bool) or not isinstance(value, (int, float, str)):
        return None
    try:
        return float(value)
    except ValueError:
        return None
