"""Gradescope's ``results.json`` for one student: one test an exercise, with what a student may read."""

from __future__ import annotations

from typing import Any

from autograder.bridges._marks import Options, total
from autograder.bridges._words import changes, headline
from autograder.bulk.grades import ExerciseGrade, StudentGrade
from autograder.bulk.table import number
from autograder.reports.public_view import WORTH_NOTHING_YET, public_exercise, public_run


def results_document(student: StudentGrade, options: Options) -> dict[str, Any]:
    """The document.  The score at its top is what counts; hidden checks are in the scores, and only counted."""
    lines = [f"{number(student.score)} of {number(student.points)} points."]
    if student.bonus:
        counted = "counted" if options.with_bonus else "not counted in the score"
        lines.append(f"Bonus: {number(student.bonus)} points, {counted}.")
    if error := public_run(student.result).error:
        lines.append(error)
    lines += [late.sentence for late in student.late]
    return {
        "score": total(student, options),
        "output": "\n".join(lines),
        "output_format": "text",
        "visibility": "visible",
        "stdout_visibility": "hidden",
        "tests": [_test(item, student.student) for item in student.exercises],
    }


def _test(item: ExerciseGrade, student: str) -> dict[str, Any]:
    exercise = item.result
    most = exercise.points if exercise.counts else 0.0
    score = item.score if exercise.counts or exercise.optional else 0.0
    remark = "" if exercise.counts else " (optional)" if exercise.optional else " (not counted: it could not run)"
    status = {"status": "passed" if score >= most else "failed"} if exercise.counts else {}
    return {
        "name": f"{exercise.title}{remark}",
        "score": score,
        "max_score": most,
        **status,
        "output": "\n".join(_lines(item, student)),
        "output_format": "text",
        "visibility": "visible",
    }


def _lines(item: ExerciseGrade, student: str) -> list[str]:
    view = public_exercise(item.result, student)
    lines = [headline(view)]
    if view.result.message:
        lines.append(view.result.message)
    for check in view.result.checks:
        if check.outcome != "skipped":
            lines.append(f"{check.outcome}  {check.id}: {check.proves}")
            if check.outcome != "pass" or check.message == WORTH_NOTHING_YET:
                lines.append(f"    {check.message}")
    return [*lines, *(clue.message for clue in view.clues), *view.diagnosis, *changes(item)]
