"""The commonest failures of a class: the first thing that went wrong with each exercise, grouped by what it was."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from autograder.bulk.grades import StudentGrade
from autograder.result import ExerciseResult

MOST_GROUPS = 20
MOST_STUDENTS = 5

_NUMBER = re.compile(r"[-+]?(?:\d+\.?\d*|\.\d+)(?:e[-+]?\d+)?|\b(?:nan|inf)\b", re.IGNORECASE)
_NUMBERS = re.compile(r"#(?:[\s,()\[\]-]*#)+")
_END = re.compile(r"[.;] ")


@dataclass(frozen=True, slots=True)
class Failure:
    """``what`` is a known mistake, or a check, or an outcome; ``example`` is the message of the first student."""

    exercise: ExerciseResult
    kind: str
    what: str
    hidden: bool
    example: str
    students: tuple[StudentGrade, ...]

    @property
    def shown(self) -> tuple[StudentGrade, ...]:
        return self.students[:MOST_STUDENTS]

    @property
    def more(self) -> int:
        return len(self.students) - len(self.shown)


def commonest_failures(students: Sequence[StudentGrade]) -> tuple[Failure, ...]:
    """Groups of failures, the largest first; an exercise counts once a student, for its first failure."""
    groups: dict[tuple[str, str, str, str], list[StudentGrade]] = {}
    firsts: dict[tuple[str, str, str, str], tuple[ExerciseResult, bool, str]] = {}
    for student in students:
        for item in student.exercises:
            if (found := _first_failure(item.result)) is not None:
                kind, what, hidden, message = found
                key = (item.result.id, kind, what, "" if kind == "mistake" else normalised(message))
                firsts.setdefault(key, (item.result, hidden, message))
                groups.setdefault(key, []).append(student)
    failures = [
        Failure(firsts[key][0], key[1], key[2], firsts[key][1], firsts[key][2], tuple(found))
        for key, found in groups.items()
    ]
    order = {item.result.id: number for student in students for number, item in enumerate(student.exercises)}
    failures.sort(key=lambda item: (-len(item.students), order[item.exercise.id], item.kind, item.what, item.example))
    return tuple(failures[:MOST_GROUPS])


def normalised(message: str) -> str:
    """What a message says first, without its numbers: the same failure at another place is the same."""
    return _END.split(_NUMBERS.sub("#", _NUMBER.sub("#", message)))[0].rstrip(".").casefold()


def _first_failure(exercise: ExerciseResult) -> tuple[str, str, bool, str] | None:
    """Kind, name, whether it is hidden, and the message; None if the exercise is passed, not begun, or our fault."""
    if exercise.outcome in ("pass", "not-started", "skipped", "grader-error"):
        return None
    check = next((item for item in exercise.checks if item.outcome not in ("pass", "skipped")), None)
    if exercise.diagnosis:
        known = exercise.diagnosis[0]
        return "mistake", known.mistake, False, known.message
    if check is not None:
        return "check", check.id, check.hidden, check.message
    return "outcome", exercise.outcome, False, exercise.message
