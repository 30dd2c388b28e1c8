"""A class's grades as a CSV: one line a student, a column an exercise."""

from __future__ import annotations

import csv
import io

from autograder.bulk.grades import ClassGrades, StudentGrade, exercise_columns

_FORMULA = ("=", "+", "-", "@", "\t", "\r")


def class_csv(grades: ClassGrades) -> str:
    """Score of each exercise in points, the total, and the outcome of each exercise."""
    exercises = [exercise.id for exercise in exercise_columns(grades.students)]
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(
        ["student", "name", *exercises, "score", "points", "bonus", "late", "overridden"]
        + [f"{exercise}_outcome" for exercise in exercises]
        + ["error"]
    )
    for student in grades.students:
        writer.writerow(_row(student, exercises))
    return text.getvalue()


def _row(student: StudentGrade, exercises: list[str]) -> list[str]:
    by_id = {item.result.id: item for item in student.exercises}
    # What was not graded by our fault has no score, and who has such a thing no total.
    scores = [number(by_id[name].score) if name in by_id and not by_id[name].is_fault else "" for name in exercises]
    outcomes = [by_id[name].result.outcome if name in by_id else "" for name in exercises]
    overridden = " ".join(item.result.id for item in student.exercises if item.override is not None)
    late = " ".join(f"lesson{item.lesson}:{item.days}d" for item in student.late)
    return [
        harmless(student.student),
        harmless(student.name),
        *scores,
        "" if student.faults else number(student.score),
        number(student.points),
        number(student.bonus),
        late,
        overridden,
        *outcomes,
        harmless(student.result.error or ""),
    ]


def harmless(cell: str) -> str:
    """A text that no spreadsheet takes for a formula."""
    return f"'{cell}" if cell.startswith(_FORMULA) else cell


def number(value: float) -> str:
    """A score as a person would write it: at most six decimals, no trailing zeros."""
    return f"{value:.6f}".rstrip("0").rstrip(".")
