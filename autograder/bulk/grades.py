"""A class's grades: the stored results with the course's rules applied: overrides, deadlines and extensions.

Results hold what the kernels earned and nothing else, so that a change of the rules needs no grading.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from pathlib import Path

from autograder.bulk.overrides import Override, load_overrides
from autograder.bulk.roster import Roster, Student, load_roster
from autograder.bulk.store import Store
from autograder.bulk.submissions import Submission
from autograder.catalogue import Course, Lesson
from autograder.errors import UsageError
from autograder.result import ExerciseResult, RunResult


@dataclass(frozen=True, slots=True)
class Lateness:
    """What handing in after a lesson's deadline costs: ``factor`` of the lesson's score is left."""

    lesson: int
    days: int
    factor: float
    sentence: str


@dataclass(frozen=True, slots=True)
class ExerciseGrade:
    """One exercise: the result as graded, and ``score`` in points after override and lateness."""

    result: ExerciseResult
    score: float
    override: Override | None = None
    lateness: Lateness | None = None

    @property
    def is_fault(self) -> bool:
        """No grade at all: the grader failed, and nobody has set a score by hand."""
        return self.result.outcome == "grader-error" and self.override is None


@dataclass(frozen=True, slots=True)
class StudentGrade:
    """One student.  ``name`` is the best that is known: the roster's, the download's, or the id."""

    student: str
    name: str
    roster: Student | None
    submission: Submission | None
    result: RunResult
    exercises: tuple[ExerciseGrade, ...]

    @property
    def points(self) -> float:
        """What can be had in all, in points."""
        return round(sum(item.result.points for item in self.exercises if item.result.counts), 6)

    @property
    def score(self) -> float:
        """What counts, in points: after overrides and lateness, without bonus."""
        return round(sum(item.score for item in self.exercises if item.result.counts), 6)

    @property
    def bonus(self) -> float:
        """Points from optional exercises."""
        return round(sum(item.score for item in self.exercises if item.result.optional), 6)

    @property
    def faults(self) -> tuple[str, ...]:
        """Ids of the exercises that have no grade by our fault; the student's score is not to be given back."""
        return tuple(item.result.id for item in self.exercises if item.is_fault)

    @property
    def late(self) -> tuple[Lateness, ...]:
        """The lessons handed in late, each once."""
        found = {item.lateness.lesson: item.lateness for item in self.exercises if item.lateness is not None}
        return tuple(found.values())


@dataclass(frozen=True, slots=True)
class ClassGrades:
    """Everyone's grades, by id, and sentences about who could not be found in the roster, or in the results."""

    students: tuple[StudentGrade, ...]
    roster: Roster
    notes: tuple[str, ...] = ()


def class_grades(course: Course, out: Path, roster: Path | None = None) -> ClassGrades:
    """The grades of all results under ``out``; ``roster`` is a CSV, by default the one that grading was given.

    Raises:
        UsageError: there are no results, or the roster or the overrides cannot be read.
    """
    reading = GradesReader(course, out, roster)
    students = tuple(reading)
    if not students:
        raise UsageError(f"There are no results in {out}. Run `course grade` with --out {out} first.")
    return ClassGrades(students, reading.roster, reading.notes())


class GradesReader:
    """Reads the grades under ``out`` one student after another, for those who need not hold them all.

    Raises:
        UsageError: the roster or the overrides cannot be read.
    """

    def __init__(self, course: Course, out: Path, roster: Path | None = None) -> None:
        self._course = course
        self._store = Store(out)
        self.roster = load_roster(roster) if roster is not None else self._store.roster()
        self._overrides = load_overrides(self._store.overrides)
        self._submissions = self._store.submissions()
        self._notes: list[str] = []
        self._matched: set[int] = set()

    def __iter__(self) -> Iterator[StudentGrade]:
        for student in self._store.students():
            result = self._store.read(student)
            if result is None:
                self._notes.append(f"{student}: the result is damaged; run `course grade` again.")
                continue
            yield self._grade(student, result)

    def notes(self) -> tuple[str, ...]:
        """Sentences about who could not be found; complete once all students have been read."""
        missing = [row.name or row.student or row.login for row in self.roster.students if id(row) not in self._matched]
        names = ", ".join(missing)
        return (*self._notes, *([f"In the roster, and without a hand-in: {names}."] if missing else []))

    def _grade(self, student: str, result: RunResult) -> StudentGrade:
        submission = self._submissions.get(student)
        name = submission.name if submission else ""
        row = self.roster.find(student, name, submission.lms_id if submission else None)
        if row is not None:
            self._matched.add(id(row))
        elif self.roster.students:
            self._notes.append(f"{student}: not found in the roster.")
        return StudentGrade(
            student=student,
            name=(row.name if row and row.name else name) or student,
            roster=row,
            submission=submission,
            result=result,
            exercises=_grades(self._course, result, row, submission, self._overrides.get(student, {})),
        )


def lateness(course: Course, lesson: Lesson, student: Student | None, submission: Submission | None) -> Lateness | None:
    """What a lesson's hand-in costs for being late; None if it is not, or if nobody knows."""
    submitted = (student.submitted if student else None) or (submission.submitted if submission else None)
    deadline = _deadline(lesson, student)
    if deadline is None:
        return None
    if submitted is None:
        # The LMS's flag knows nothing of our extensions: whoever has one is believed.
        if submission is None or not submission.late or deadline != lesson.deadline:
            return None
        days, how = 1, "marked late by the LMS, which does not say by how much: counted as one day"
    else:
        over = submitted - deadline
        if over <= course.late.grace:
            return None
        days = math.ceil(over / timedelta(days=1))
        how = f"handed in {_span(over)} after the deadline of {deadline:%Y-%m-%d %H:%M %Z}"
    lost = min(course.late.at_most, days * course.late.per_day)
    sentence = f"Lesson {lesson.number}: {how}. That costs {100 * lost:.3g}% of its score."
    return Lateness(lesson.number, days, 1 - lost, sentence)


def _deadline(lesson: Lesson, student: Student | None) -> datetime | None:
    deadline = lesson.deadline
    if deadline is None or student is None:
        return deadline
    if student.extended_to is not None:
        return max(deadline, student.extended_to)
    return deadline + student.extension if student.extension is not None else deadline


def _grades(
    course: Course,
    result: RunResult,
    student: Student | None,
    submission: Submission | None,
    overrides: Mapping[str, Override],
) -> tuple[ExerciseGrade, ...]:
    late = {lesson.number: lateness(course, lesson, student, submission) for lesson in course.lessons}
    return tuple(
        _grade(exercise, late.get(exercise.lesson), overrides.get(exercise.id)) for exercise in result.exercises
    )


def _grade(exercise: ExerciseResult, late: Lateness | None, override: Override | None) -> ExerciseGrade:
    """An override is the instructor's last word: lateness does not change it."""
    if override is not None:
        return ExerciseGrade(exercise, override.score, override, None)
    if late is None or exercise.score == 0:
        return ExerciseGrade(exercise, exercise.score)
    return ExerciseGrade(exercise, round(exercise.score * late.factor, 6), None, late)


def _span(time: timedelta) -> str:
    days, seconds = time.days, time.seconds
    hours, minutes = seconds // 3600, seconds % 3600 // 60
    parts = [f"{days} d"] if days else []
    parts += [f"{hours} h"] if hours else []
    parts += [f"{minutes} min"] if minutes and not days else []
    return " ".join(parts) or "less than a minute"


def exercise_columns(grades: Sequence[StudentGrade]) -> tuple[ExerciseResult, ...]:
    """The exercises of a class in the course's order: one result of each, for its title and points."""
    found: dict[str, ExerciseResult] = {}
    for student in grades:
        for item in student.exercises:
            found.setdefault(item.result.id, item.result)
    return tuple(found.values())
