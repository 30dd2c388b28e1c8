"""One case at a time, graded by nobody: a check's own case, or a smaller one, on a warm worker.

What may be made smaller, and how far, is declared by the exercise (``[shrink]``).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from autograder.catalogue import Check, Course, Exercise
from autograder.errors import UsageError
from autograder.lift import CompactModule
from autograder.plan import Plan, plan_exercises
from autograder.pool import Pool
from autograder.protocol import CheckJob, CheckReply, Job
from autograder.scoring import TARGET_CHECK
from autograder.session import LIMITS

if TYPE_CHECKING:
    from autograder.judge.verdict import Case, Verdict

_FLAGS = {"true": True, "on": True, "yes": True, "1": True, "false": False, "off": False, "no": False, "0": False}


@dataclass(frozen=True, slots=True)
class Tried:
    """One case that was run: what was set in it, the shapes of its inputs, and what came of it, with its place."""

    check: Check
    shapes: Mapping[str, tuple[int, ...]]
    outcome: str
    message: str


def planned(course: Course, path: Path, exercise: Exercise) -> Plan:
    """The plan of one exercise, with an outcome if it cannot be run, or if what it calls cannot.

    Unlike a graded kernel, it runs with pieces that are wrong.

    Raises:
        HandInError: there is nothing readable at ``path``.
    """
    plans = {plan.exercise.id: plan for plan in plan_exercises(course, path, (exercise,), None)[0]}
    plan = plans[exercise.id]
    for piece in (plans[id] for id in plan.builds_on):
        if piece.outcome is not None:
            word = piece.outcome.replace("-", " ")
            message = f"Calls {piece.exercise.id}, and that is {word}{': ' + piece.message if piece.message else '.'}"
            return replace(plan, outcome=piece.outcome, message=message)
    return plan


def case_job(plan: Plan, module: CompactModule, checks: tuple[CheckJob, ...], device: str, recording: int = 0) -> Job:
    """A job for some cases of a plan, with nothing of it replaced."""
    return Job(
        launch=str(plan.exercise.launch),
        file_name=plan.exercise.file,
        module=module.text,
        functions=plan.exercise.handed,
        checks=checks,
        device=device,
        allow_atomics=plan.exercise.allow_atomics,
        limits=LIMITS[device],
        recording=recording,
    )


def named_case(
    exercise: Exercise, name: str, settings: Iterable[str], device: str, others: Sequence[Check] = ()
) -> Check:
    """A check of the exercise, or one of ``others``, by its id, with ``NAME=VALUE`` set in its case.

    Raises:
        UsageError: there is no such check on this device, or a setting that it does not take.
    """
    known = {check.id: check for check in (*others, *exercise.checks) if device in check.devices}
    if name not in known and name in {TARGET_CHECK, *(check.id for check in exercise.checks)}:
        why = "compiles the kernels and has no case to run" if name == TARGET_CHECK else f"does not run on {device}"
        raise UsageError(f"{name} {why}. The cases of {exercise.id} are: {', '.join(known)}.")
    if name not in known:
        raise UsageError(f"{exercise.id} has no case {name!r}. It has: {', '.join(known)}.")
    check = known[name]
    case = dict(check.case)
    for setting in settings:
        key, equals, text = setting.partition("=")
        if not equals:
            raise UsageError(f"--set takes a name and a value, as in --set {_example(exercise)}, and not {setting!r}.")
        case[key] = _value(exercise, check, key.strip(), text.strip())
    for key in exercise.shrink:  # a length may have to be a multiple of another that is set as well
        if key in case and not _fits(exercise, check, key, case[key]):
            raise UsageError(_range(exercise, check, key))
    return replace(check, case=MappingProxyType(case))


def least(exercise: Exercise, check: Check, key: str) -> Any:
    """What the exercise says that ``key`` may be made: for a length, its least value."""
    target = exercise.shrink[key]
    return check.case[target] if isinstance(target, str) else target


def step(exercise: Exercise, check: Check, key: str) -> int:
    """A length is a multiple of this."""
    target = exercise.shrink[key]
    return int(check.case[target]) if isinstance(target, str) else 1


def run_cases(
    pool: Pool, plan: Plan, checks: Sequence[Check], seed: int, device: str, carry_on: Callable[[Tried], bool]
) -> None:
    """Run cases of one plan in order until ``carry_on`` returns False; each has the inputs that its check's id gives.

    Raises:
        CourseError: the exercise's oracle fails on one of them.
        WorkerError: the worker is gone.
    """
    from autograder.judge.oracles import check_seed, load_oracle
    from autograder.judge.verdict import Case

    oracle = load_oracle(plan.exercise.oracle)
    module = plan.module(())
    cases = [Case(plan.exercise, check, oracle, check_seed(plan.exercise, check, seed, None)) for check in checks]
    # A job tells its checks apart by their ids, and these may all have one.
    jobs = tuple(replace(case.job, id=f"case{number}") for number, case in enumerate(cases))
    done = 0

    def take(reply: CheckReply, following: CheckJob | None) -> bool:
        nonlocal done
        verdict = cases[done].judge(reply)
        done += 1
        return carry_on(_tried(plan, module, checks[done - 1], cases[done - 1], verdict))

    pool.run(case_job(plan, module, jobs, device), take)


def _tried(plan: Plan, module: CompactModule, check: Check, case: Case, verdict: Verdict) -> Tried:
    shapes = {name: tuple(x.shape) for name, x in case.inputs.items()}
    message = plan.locate(verdict.message, module.student_line(verdict.line)) if verdict.message else ""
    return Tried(check, shapes, verdict.outcome, message)


def _value(exercise: Exercise, check: Check, key: str, text: str) -> Any:
    """A setting's value, of the kind that the case has there."""
    if key not in exercise.shrink or key not in check.case:
        known = ", ".join(name for name in exercise.shrink if name in check.case) or "nothing"
        raise UsageError(f"{key!r} cannot be set in a case of {exercise.id}. What can: {known}.")
    own = check.case[key]
    try:
        if isinstance(own, bool):
            return _FLAGS[text.lower()]
        value: int | float = int(text) if isinstance(own, int) else float(text)
    except (KeyError, ValueError):
        kind = "neither on nor off" if isinstance(own, bool) else "no number of this kind"
        raise UsageError(f"{text!r} is {kind}: {_range(exercise, check, key)}") from None
    if not _fits(exercise, check, key, value):
        raise UsageError(_range(exercise, check, key))
    return value


def _fits(exercise: Exercise, check: Check, key: str, value: Any) -> bool:
    """Whether a value lies between what the check has and what it may be made."""
    own, target = check.case[key], least(exercise, check, key)
    if isinstance(own, bool):
        return value in (own, target)
    low, high = min(own, target), max(own, target)
    return (
        math.isfinite(value)
        and low <= value <= high
        and (value == own or value % step(exercise, check, key) == 0 or not isinstance(own, int))
    )


def _range(exercise: Exercise, check: Check, key: str) -> str:
    own, target = check.case[key], least(exercise, check, key)
    if isinstance(own, bool):
        return f"{key} is {shown(own)} in {check.id} and may be set to {shown(target)}."
    low, high = min(own, target), max(own, target)
    if low == high:
        return f"{key} is {shown(own)} in {check.id}, and no other value may be set."
    multiple = f", a multiple of {step(exercise, check, key)}" if step(exercise, check, key) > 1 else ""
    return f"{key} may be set to {shown(low)} to {shown(high)}{multiple} in {check.id}."


def shown(value: Any) -> str:
    """A value as it is written behind ``--set NAME=``."""
    return (
        ("on" if value else "off")
        if isinstance(value, bool)
        else f"{value!r}"
        if isinstance(value, float)
        else str(value)
    )


def _example(exercise: Exercise) -> str:
    key = next(iter(exercise.shrink), "name")
    value = exercise.shrink.get(key, 1)
    return f"{key}={shown(value) if not isinstance(value, str) else 16}"
