"""From verdicts to an exercise's result: its checks, its score and its outcome."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from autograder.catalogue import TARGET_TIER, Check, Exercise
from autograder.gpu_targets import TargetVerdict
from autograder.plan import Plan
from autograder.result import AFTER_A_FAILURE, CheckResult, ExerciseResult

if TYPE_CHECKING:
    from autograder.judge.verdict import Verdict

TARGET_CHECK = "gpu_targets"

# What a smaller case can show as well.  What never ends would take its whole time again and again.
SHRINKABLE = frozenset({"fail", "compile-error"})


def check_result(
    plan: Plan, check: Check, verdict: Verdict | None, device: str, repro: str, seed: int | None = None
) -> CheckResult:
    """One check's result; without a verdict it was not reached, or cannot run on ``device``."""
    if verdict is not None:
        return CheckResult(
            check.id,
            check.tier,
            check.weight,
            check.hidden,
            verdict.outcome,
            check.proves,
            plan.locate(verdict.message, verdict.line),
            verdict.measurements,
            verdict.where,
            None if check.hidden else repro,
            seed,
        )
    reason = AFTER_A_FAILURE
    if device not in check.devices:
        reason = "Runs only on a CUDA GPU." if device == "cpu" else "Runs only on the CPU."
        if device == "cuda" and check.gpu_memory:
            reason = f"Runs only on a GPU with at least {check.gpu_memory:.0f} GiB of memory."
    return CheckResult(check.id, check.tier, check.weight, check.hidden, "skipped", check.proves, reason)


def not_run(plan: Plan, outcome: str, message: str, counts: bool = True) -> ExerciseResult:
    """The result of an exercise of which nothing was run."""
    checks = tuple(
        CheckResult(check.id, check.tier, check.weight, check.hidden, "skipped", check.proves, "Not run.")
        for check in plan.checks
    )
    return _result(plan, outcome, 0.0, 0.0, message, checks, counts and not plan.exercise.optional)


def scored(
    plan: Plan,
    checks: Sequence[CheckResult],
    targets: TargetVerdict | None,
    message: str,
    seconds: float,
    device: str,
    repro: str,
) -> ExerciseResult:
    """The exercise's score: the weights of the passed checks over those of all that can run here.

    The check on GPU targets counts with a weight of its own; where it could not run it counts in neither.  A kernel
    that gets nothing right earns nothing for compiling.
    """
    counting = [check for check, source in zip(checks, plan.checks, strict=True) if device in source.devices]
    every = list(checks)
    if targets is not None:
        every.append(_target_check(plan, targets, repro))
        if targets.outcome != "skipped":
            counting.append(every[-1])
    total = sum(check.weight for check in counting)
    passed = sum(check.weight for check in counting if check.outcome == "pass")
    points = plan.exercise.points
    complete = all(check.outcome == "pass" for check in counting)
    any_right = any(check.outcome == "pass" and check.tier != TARGET_TIER for check in counting)
    score = points if complete else round(points * passed / total, 6) if any_right else 0.0
    if any(check.outcome == "grader-error" for check in every):
        outcome = "grader-error"
    elif complete:
        outcome = "pass"
    elif score > 0:
        outcome = "partial"
    else:
        outcome = next(check.outcome for check in counting if check.outcome not in ("pass", "skipped"))
    return _result(plan, outcome, score, seconds, message, tuple(every), not plan.exercise.optional, targets)


def closer(exercise: Exercise, checks: Sequence[CheckResult], options: str, whole: bool = True) -> tuple[str, ...]:
    """The commands that look closer at the first public failure, where there are any; ``options`` name the hand-in.

    Without ``whole`` another function's reference stood in for the student's, which a smaller case has not.
    """
    failed = next((check for check in checks if check.outcome not in ("pass", "skipped") and not check.hidden), None)
    if failed is None:
        return ()
    found = []
    if exercise.traces and failed.outcome == "fail" and failed.measurements:  # the kernel came to its end
        found.append(f"grade trace {exercise.id}{options}")
    if exercise.shrink and failed.outcome in SHRINKABLE and whole:
        found.append(f"grade check {exercise.id} --smallest{options}")
    return tuple(found)


def _target_check(plan: Plan, targets: TargetVerdict, repro: str) -> CheckResult:
    proves = "The kernels compile for the course's GPUs and fit their shared memory"
    if plan.exercise.true_float32:
        proves += ", and no float32 dot is rounded to TF32"
    shared = [target.shared for target in targets.targets if target.shared is not None]
    return CheckResult(
        TARGET_CHECK,
        TARGET_TIER,
        plan.exercise.target_weight,
        False,
        targets.outcome,
        f"{proves}.",
        plan.locate(targets.message, targets.line),
        {"shared_bytes": max(shared)} if shared else {},
        None,
        repro,
    )


def _result(
    plan: Plan,
    outcome: str,
    score: float,
    seconds: float,
    message: str,
    checks: tuple[CheckResult, ...],
    counts: bool,
    targets: TargetVerdict | None = None,
) -> ExerciseResult:
    return ExerciseResult(
        id=plan.exercise.id,
        lesson=plan.exercise.lesson,
        title=plan.exercise.title,
        points=plan.exercise.points,
        score=score,
        optional=plan.exercise.optional,
        outcome=outcome,
        seconds=round(seconds, 3),
        file=plan.file,
        line=plan.place[1],
        cell=plan.place[0],
        counts=counts,
        message=message,
        checks=checks,
        gpu_targets=targets.targets if targets is not None else (),
        remarks=plan.remarks,
        source=plan.mark,
    )
