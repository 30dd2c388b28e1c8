"""Gradescope's ``results.json`` of one submission, made in its container: a test for each check.

What follows from hidden checks is in tests with a visibility of their own, and only as numbers: no id, sentence or
message of one.  Gradescope shows a student no total as long as a test waits for its time ("Controlling Test Case
Visibility" in Gradescope's "Autograder Specifications").
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from autograder.reports.public_view import (
    FOLLOW_THROUGH,
    WORTH_NOTHING_YET,
    PublicExercise,
    points_text,
    points_word,
    public_exercise,
    public_run,
)
from autograder.result import AFTER_A_FAILURE, CheckResult, ExerciseResult, RunResult

_NOW = "visible"


def checks_document(result: RunResult, hidden_checks: str) -> dict[str, Any]:
    """The document; ``hidden_checks`` is the visibility of all that hidden checks decide.

    The score at its top is the course's, the sum of the scores of its tests.  No rule on lateness is applied: that is
    Gradescope's to do.
    """
    tests = [
        {"number": f"{place}.{index}", **test}
        for place, exercise in enumerate(result.exercises, 1)
        for index, test in enumerate(_summed(exercise, _tests(exercise, result.student, hidden_checks)), 1)
    ]
    return {
        "score": round(result.score, 6),
        "output": "\n".join(_lines(result, tests)),
        "output_format": "text",
        "visibility": _NOW,
        "stdout_visibility": "hidden",
        "tests": tests,
    }


def _lines(result: RunResult, tests: list[dict[str, Any]]) -> Iterator[str]:
    public = [test for test in tests if test["visibility"] == _NOW and "score" in test]
    # How many points public checks can give depends on what was begun: only the whole is the same for everyone.
    earned = points_word(sum(test["score"] for test in public))
    yield f"Public checks: {earned}. The whole assignment is worth {points_text(result.points)}."
    if len(public) < len(tests):
        yield "Other checks are hidden; what they give is shown once the course publishes it."
    view = public_run(result)
    if view.error:
        yield view.error
    yield from view.notes


def _summed(exercise: ExerciseResult, tests: Iterable[dict[str, Any]]) -> list[dict[str, Any]]:
    """The tests of an exercise, so that their rounded maxima add up to its points: the last one takes the rest."""
    found = list(tests)
    counted = [test for test in found if "max_score" in test]
    if counted:
        last = counted[-1]
        most = round(exercise.points - sum(test["max_score"] for test in counted[:-1]), 6)
        last["score"] = most if last["status"] == "passed" else min(last["score"], most)
        last["max_score"] = most
    return found


def _tests(exercise: ExerciseResult, student: str | None, hidden_checks: str) -> Iterator[dict[str, Any]]:
    view = public_exercise(exercise, student)
    if not exercise.counts:
        yield _uncounted(view)
        return
    if not view.shares or all(check.outcome == "skipped" for check in exercise.checks):
        text = view.result.message or f"{exercise.outcome}."
        yield _test(exercise.title, 0.0, exercise.points, text, _NOW)
        return
    failed = next((check for check in view.result.checks if check.outcome not in ("pass", "skipped")), None)
    follows = FOLLOW_THROUGH in exercise.message  # another exercise's failure, which may be a hidden one
    for check in view.result.checks:
        share = view.shares.get(check.id)
        if share is None:
            continue
        # Left out behind a hidden failure, where no public one is: that says how the hidden check went.
        revealing = check.message == AFTER_A_FAILURE and failed is None
        output = "\n".join(_words(check, view, check is failed, follows))
        visibility = hidden_checks if revealing else _NOW
        yield _test(f"{exercise.title}: {check.id}", share.earned, share.points, output, visibility)
    if view.hidden is not None and view.hidden.share is not None:
        share = view.hidden.share
        yield _test(f"{exercise.title}: hidden checks", share.earned, share.points, view.hidden.sentence, hidden_checks)
    if follows:
        yield {"name": exercise.title, "output": view.result.message, "output_format": "text"} | {
            "visibility": hidden_checks
        }


def _words(check: CheckResult, view: PublicExercise, first: bool, follows: bool) -> Iterator[str]:
    yield f"{check.outcome}: {check.proves}"
    if check.outcome != "pass" or check.message == WORTH_NOTHING_YET:
        yield check.message
    if first:
        if view.result.message and not follows:
            yield view.result.message
        yield from (clue.message for clue in view.clues)
        yield from view.diagnosis


def _uncounted(view: PublicExercise) -> dict[str, Any]:
    """An exercise that is no part of the score: what became of it, without numbers that Gradescope would add up."""
    exercise = view.result
    public = [check for check in exercise.checks if check.outcome != "skipped"]
    passed = sum(check.outcome == "pass" for check in public)
    why = "optional, not part of the score" if exercise.optional else "not counted: it could not run here"
    lines = [f"{why}. Public checks: {passed} of {len(public)}.", exercise.message]
    lines += [f"{check.outcome}: {check.id}: {check.message}" for check in public if check.outcome != "pass"]
    return {"name": exercise.title, "output": "\n".join(filter(None, lines)), "output_format": "text"} | {
        "visibility": _NOW
    }


def _test(name: str, score: float, most: float, output: str, visibility: str) -> dict[str, Any]:
    return {
        "name": name,
        "score": round(score, 6),
        "max_score": round(most, 6),
        "status": "passed" if score >= most else "failed",
        "output": output,
        "output_format": "text",
        "visibility": visibility,
    }
