"""The instructor's page on a class: what to know first, the scores, the commonest failures, and everyone's table."""

from __future__ import annotations

import statistics
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace

from autograder.bulk.grades import ClassGrades, ExerciseGrade, StudentGrade, exercise_columns
from autograder.bulk.names import folded
from autograder.reports.html._cautions import cautions, environment_text, without_hand_in
from autograder.reports.html._environment import render
from autograder.reports.html._failures import commonest_failures
from autograder.reports.html._histogram import Histogram, histogram
from autograder.reports.html._words import OUTCOMES, Outcome, outcome
from autograder.result import ExerciseResult
from autograder.similarity import Similar


@dataclass(frozen=True, slots=True)
class Cell:
    """One student's exercise."""

    exercise: str
    outcome: Outcome
    score: float
    late: str
    override: str


@dataclass(frozen=True, slots=True)
class Row:
    """One student; a cell is None where the result has no such exercise."""

    student: str
    name: str
    cells: tuple[Cell | None, ...]
    score: float
    bonus: float


@dataclass(frozen=True, slots=True)
class ExerciseSummary:
    """One exercise over a class, without those at whom the grader failed.

    ``not_run`` counts those whose work this machine could not run; they are in no other number.
    """

    exercise: ExerciseResult
    graded: int
    passed: int
    partial: int
    wrong: int
    untouched: int
    not_run: int
    mean: float
    distribution: Histogram

    @property
    def rate(self) -> float:
        """The share that passed, in percent."""
        return 100 * self.passed / self.graded if self.graded else 0.0


def class_report(course_title: str, grades: ClassGrades, similar: Similar | None = None) -> str:
    """The page, as HTML: self-contained and without scripts.  It is the instructor's: hidden checks are named.

    ``similar`` are hand-ins to read side by side; None if nobody looked for them.
    """
    grades = replace(grades, students=_told_apart(grades.students))
    students = sorted(grades.students, key=lambda item: (item.name.casefold(), item.student))
    columns = exercise_columns(students)
    rows = tuple(_row(student, columns) for student in students)
    sound = [student for student in students if not _faulty(student)]
    counted = sound or students
    totals = [student.score for student in counted]
    points = max(student.points for student in students)
    summaries = tuple(_summary(column, students) for column in columns)
    return render(
        "report.html",
        course=course_title,
        students=students,
        points=points,
        mean=statistics.fmean(totals),
        median=statistics.median(totals),
        left_out=len(students) - len(counted),
        cautions=cautions(grades),
        without=without_hand_in(students),
        environment=environment_text(students[0]),
        distribution=histogram(s.score / s.points if s.points else 0.0 for s in counted),
        summaries=summaries,
        some_not_run=any(item.not_run for item in summaries),
        failures=commonest_failures(students),
        columns=columns,
        rows=rows,
        means=tuple(_mean(column, students) for column in columns),
        by_total=sorted(rows, key=lambda row: (row.score, row.name.casefold(), row.student)),
        legend=tuple(dict.fromkeys((item.symbol, item.words, item.tone) for item in OUTCOMES.values())),
        bonus=any(student.bonus for student in students),
        similar=similar,
        names={student.student: student.name for student in students},
    )


def _told_apart(students: Sequence[StudentGrade]) -> tuple[StudentGrade, ...]:
    """The students, those of one name with their ids behind it."""
    count = Counter(folded(student.name) for student in students)
    return tuple(
        replace(student, name=f"{student.name} ({student.student})") if count[folded(student.name)] > 1 else student
        for student in students
    )


def _faulty(student: StudentGrade) -> bool:
    """Whether the grader failed at it and nobody has set the score: a total that says nothing yet."""
    return any(item.result.outcome == "grader-error" and item.override is None for item in student.exercises)


def _row(student: StudentGrade, columns: Sequence[ExerciseResult]) -> Row:
    cells = {item.result.id: _cell(item) for item in student.exercises}
    return Row(
        student=student.student,
        name=student.name,
        cells=tuple(cells.get(column.id) for column in columns),
        score=student.score,
        bonus=student.bonus,
    )


def _cell(item: ExerciseGrade) -> Cell:
    return Cell(
        exercise=item.result.id,
        outcome=outcome(item.result.outcome),
        score=item.score,
        late=item.lateness.sentence if item.lateness else "",
        override=item.override.reason if item.override else "",
    )


def _items(column: ExerciseResult, students: Sequence[StudentGrade]) -> list[ExerciseGrade]:
    """All results of one exercise that say something about the students."""
    return [
        item
        for student in students
        for item in student.exercises
        if item.result.id == column.id and item.result.outcome != "grader-error" and not _not_run(item)
    ]


def _not_run(item: ExerciseGrade) -> bool:
    """Whether it was begun, and this machine could not run it; nobody has set its score either."""
    return item.result.outcome == "skipped" and item.override is None


def _summary(column: ExerciseResult, students: Sequence[StudentGrade]) -> ExerciseSummary:
    items = _items(column, students)
    outcomes = [item.result.outcome for item in items]
    passed, partial = outcomes.count("pass"), outcomes.count("partial")
    untouched = outcomes.count("not-started")
    every = [item for student in students for item in student.exercises if item.result.id == column.id]
    return ExerciseSummary(
        exercise=column,
        graded=len(items),
        passed=passed,
        partial=partial,
        wrong=len(items) - passed - partial - untouched - outcomes.count("skipped"),
        untouched=untouched,
        not_run=sum(map(_not_run, every)),
        mean=_mean(column, students),
        distribution=histogram(item.score / item.result.points if item.result.points else 0.0 for item in items),
    )


def _mean(column: ExerciseResult, students: Sequence[StudentGrade]) -> float:
    scores = [item.score for item in _items(column, students)]
    return statistics.fmean(scores) if scores else 0.0
