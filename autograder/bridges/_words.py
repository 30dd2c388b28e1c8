"""What a student may read about one exercise, in a few words."""

from __future__ import annotations

from autograder.bulk.grades import ExerciseGrade
from autograder.reports.public_view import PublicExercise, public_exercise
from autograder.result import AFTER_A_FAILURE

_LONGEST = 500  # characters of one message


def comment(item: ExerciseGrade, student: str) -> str:
    """The outcome, how many checks passed, the first failed public check's message, and what changed the score."""
    view = public_exercise(item.result, student)
    parts = [headline(view)]
    if view.result.message:
        parts.append(_short(view.result.message))
    failed = next((check for check in view.result.checks if check.outcome not in ("pass", "skipped")), None)
    if failed is not None:
        parts.append(f"{failed.id}: {_short(failed.message)}")
    return " ".join((*parts, *changes(item)))


def headline(view: PublicExercise) -> str:
    """``partial: public 3 of 5. 2 hidden checks: 1 passed, 0.5 of 1 point.``"""
    checks = view.result.checks
    if all(check.outcome == "skipped" for check in checks):
        return f"{view.result.outcome}."
    able = [check for check in checks if check.outcome != "skipped" or check.message == AFTER_A_FAILURE]
    text = f"{view.result.outcome}: public {sum(check.outcome == 'pass' for check in able)} of {len(able)}"
    if view.hidden is None:
        return f"{text}; hidden checks run when the course grades."
    return f"{text}. {view.hidden.sentence}"


def changes(item: ExerciseGrade) -> list[str]:
    """What made the score another than the graded one.  The reason of an override is the instructor's to tell."""
    if item.override is not None:
        return ["The score was set by hand."]
    return [item.lateness.sentence] if item.lateness is not None else []


def _short(text: str) -> str:
    text = " ".join(text.split())
    return text if len(text) <= _LONGEST else f"{text[: _LONGEST - 3]}..."
