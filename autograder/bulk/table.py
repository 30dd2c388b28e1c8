"""A class's grades as a CSV: one line a student, a column an exercise."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from autograder.bulk.grades import GradesReader, StudentGrade
from autograder.bulk.store import Store
from autograder.catalogue import Course
from autograder.release.files import write_whole

_FORMULA = ("=", "+", "-", "@", "\t", "\r")


def class_csv(students: Iterable[StudentGrade]) -> str:
    """Score of each exercise in points, the total, and the outcome of each exercise.

    Students may come one by one: of each only the row is held.
    """
    rows = [_Row.of(student) for student in students]
    exercises = tuple(dict.fromkeys(exercise for row in rows for exercise in row.scores))
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(
        ["student", "name", *exercises, "score", "points", "bonus", "late", "overridden"]
        + [f"{exercise}_outcome" for exercise in exercises]
        + ["error"]
    )
    for row in rows:
        scores = [row.scores.get(exercise, "") for exercise in exercises]
        outcomes = [row.outcomes.get(exercise, "") for exercise in exercises]
        writer.writerow([*row.identity, *scores, *row.totals, *outcomes, row.error])
    return text.getvalue()


@dataclass(frozen=True, slots=True)
class _Row:
    """The cells of one student."""

    identity: tuple[str, str]
    scores: Mapping[str, str]
    totals: tuple[str, ...]
    outcomes: Mapping[str, str]
    error: str

    @classmethod
    def of(cls, student: StudentGrade) -> _Row:
        late = " ".join(f"lesson{item.lesson}:{item.days}d" for item in student.late)
        overridden = " ".join(item.result.id for item in student.exercises if item.override is not None)
        # What was not graded has no score, and who has such a thing no total.
        total = "" if student.faults or student.never_graded() else number(student.score)
        return cls(
            identity=(harmless(student.student), harmless(student.name)),
            scores={item.result.id: "" if item.is_fault else number(item.score) for item in student.exercises},
            totals=(total, number(student.points), number(student.bonus), late, overridden),
            outcomes={item.result.id: item.result.outcome for item in student.exercises},
            error=harmless(student.result.error or ""),
        )


def write_grades(course: Course, store: Store) -> GradesReader:
    """Write ``grades.csv`` by today's rules, if it is not so already; the reader it was made with.

    Raises:
        UsageError: it cannot be written, or the roster or the overrides cannot be read.
    """
    reader = GradesReader(course, store.out)
    data = class_csv(reader).encode()
    if not store.grades.is_file() or store.grades.read_bytes() != data:
        write_whole(store.grades, data)
    return reader


def harmless(cell: str) -> str:
    """A text that no spreadsheet takes for a formula."""
    return f"'{cell}" if cell.startswith(_FORMULA) else cell


def number(value: float) -> str:
    """A score as a person would write it: at most six decimals, no trailing zeros."""
    return f"{value:.6f}".rstrip("0").rstrip(".")
