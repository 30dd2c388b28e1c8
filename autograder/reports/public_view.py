"""What a student may see of a result: the public checks whole, of the hidden ones a count and the points they cost.

Pages and exports for students are made from this view, never from the result, so that nothing hidden can slip
through: no id, sentence, case, seed, place, message or measurement of a hidden check is in it.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from autograder.catalogue import TARGET_TIER
from autograder.result import AFTER_A_FAILURE, CheckResult, Clue, ExerciseResult, RunResult

OUR_FAULT = "The grader failed here, not your work. It costs you nothing: your instructor will grade it again."

# Of a check on GPU targets that passes where nothing else does.
WORTH_NOTHING_YET = "It compiles, which counts as soon as something that it computes is right."

# How an exercise says that a piece which failed was replaced.
FOLLOW_THROUGH = "the reference in place of"


@dataclass(frozen=True, slots=True)
class Share:
    """What a check is worth, in points, and what was earned of it."""

    earned: float
    points: float


@dataclass(frozen=True, slots=True)
class HiddenChecks:
    """An exercise's hidden checks in numbers; ``share`` is None where no check of it was run."""

    count: int
    passed: int
    left_out: int
    share: Share | None

    @property
    def sentence(self) -> str:
        """``2 hidden checks: 1 passed, 1.5 of 2 points.``"""
        checks = f"{self.count} hidden check{'s' if self.count != 1 else ''}"
        if self.share is None:
            return f"{checks}: not run."
        text = f"{checks}: {self.passed} passed, {points_text(self.share.earned)} of {points_word(self.share.points)}"
        if self.left_out:
            which = "not run" if self.left_out == self.count else f"{self.left_out} not run"
            text += f"; {which}, since an earlier check failed"
        return f"{text}."


@dataclass(frozen=True, slots=True)
class PublicExercise:
    """One exercise: ``result`` holds public checks only, and ``shares`` what each of them is worth, by its id.

    ``diagnosis`` says in words which known mistakes explain a public failure, ``clues`` what else was seen of one.
    """

    result: ExerciseResult
    shares: Mapping[str, Share]
    hidden: HiddenChecks | None
    diagnosis: tuple[str, ...] = ()
    clues: tuple[Clue, ...] = ()


@dataclass(frozen=True, slots=True)
class PublicRun:
    """A whole result; ``error`` and ``notes`` name no folder of the instructor's machine."""

    exercises: tuple[PublicExercise, ...]
    error: str | None = None
    notes: tuple[str, ...] = field(default=())


def public_run(result: RunResult) -> PublicRun:
    """What the student of ``result`` may see of it."""
    faults = any(exercise.outcome == "grader-error" for exercise in result.exercises)
    error = result.error
    if error is not None:
        error = OUR_FAULT if faults else _without_folders(error, result.student)
    return PublicRun(
        exercises=tuple(public_exercise(exercise, result.student) for exercise in result.exercises),
        error=error,
        notes=tuple(_without_folders(note, result.student) for note in result.notes),
    )


def public_exercise(exercise: ExerciseResult, student: str | None = None) -> PublicExercise:
    """What a student may see of one exercise."""
    counting = [check for check in exercise.checks if _counts(check)]
    total = sum(check.weight for check in counting)

    def share(checks: list[CheckResult]) -> Share | None:
        able = [check for check in checks if _counts(check)]
        if not able or total <= 0:
            return None
        passed = sum(check.weight for check in able if check.outcome == "pass")
        earned = exercise.points * passed / total if exercise.score > 0 else 0.0
        return Share(earned, exercise.points * sum(check.weight for check in able) / total)

    public = [check for check in exercise.checks if not check.hidden]
    shares = {check.id: found for check in public if (found := share([check])) is not None}
    hidden = [check for check in exercise.checks if check.hidden]
    message = OUR_FAULT if exercise.outcome == "grader-error" else _without_folders(exercise.message, student)
    quoted = FOLLOW_THROUGH in exercise.message  # then the compiler may quote the reference
    return PublicExercise(
        result=replace(
            exercise,
            seconds=0.0,  # hidden checks are part of it
            message=message,
            checks=tuple(_public_check(check, exercise) for check in public),
            diagnosis=(),
            clues=(),
            closer=tuple(_without_dir(command) for command in exercise.closer),
            gpu_targets=tuple(replace(item, original="") if quoted else item for item in exercise.gpu_targets),
        ),
        shares=shares,
        hidden=_hidden_checks(hidden, share(hidden)) if hidden else None,
        diagnosis=_likely_causes(exercise) if _public_failure(public) else (),
        clues=exercise.clues if _public_failure(public) else (),
    )


def _likely_causes(exercise: ExerciseResult) -> tuple[str, ...]:
    return tuple(dict.fromkeys(f"Likely cause: {item.message}" for item in exercise.diagnosis))


def points_text(value: float) -> str:
    """``1.5``, ``2``, ``0.33``."""
    return f"{value:.2f}".rstrip("0").rstrip(".") if round(value, 2) % 1 else f"{value:.0f}"


def points_word(value: float) -> str:
    """``1 point``, ``1.5 points``."""
    text = points_text(value)
    return f"{text} point{'s' if text != '1' else ''}"


def _counts(check: CheckResult) -> bool:
    """Whether a check is part of the score: one that this machine cannot run is not."""
    return check.outcome != "skipped" or check.message == AFTER_A_FAILURE


def _hidden_checks(checks: list[CheckResult], share: Share | None) -> HiddenChecks:
    return HiddenChecks(
        count=len(checks),
        passed=sum(check.outcome == "pass" for check in checks),
        left_out=sum(check.message == AFTER_A_FAILURE for check in checks),
        share=share,
    )


def _public_check(check: CheckResult, exercise: ExerciseResult) -> CheckResult:
    message = OUR_FAULT if check.outcome == "grader-error" else check.message
    compiles = check.tier == TARGET_TIER and check.outcome == "pass"
    if compiles and exercise.score == 0 and exercise.outcome != "grader-error":
        message = WORTH_NOTHING_YET
    return replace(check, message=message, repro=_without_dir(check.repro) if check.repro else None)


def _public_failure(checks: list[CheckResult]) -> bool:
    """Whether a public check failed; else what is known of the failure comes from a hidden one."""
    return any(check.outcome not in ("pass", "skipped") and check.tier != TARGET_TIER for check in checks)


def _without_dir(command: str) -> str:
    """A command to repeat a check, for the student's own folder instead of the instructor's."""
    try:
        words = shlex.split(command)
    except ValueError:
        return command
    if "--dir" not in words:
        return command
    at = words.index("--dir")
    return shlex.join(words[:at] + words[at + 2 :])


def _without_folders(text: str, student: str | None) -> str:
    """A sentence in which the place of a hand-in on the instructor's machine is just ``your hand-in``."""
    if not student or student not in text:
        return text
    place = rf"\S*/(?:[^/\n]*/)*{re.escape(student)}(?:\.(?:py|ipynb|zip)\b)?"
    return re.sub(place, "your hand-in", text)
