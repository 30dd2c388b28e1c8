"""A class's grades: the stored results with the course's rules applied: overrides, deadlines and extensions.

Results hold what the kernels earned and nothing else, so that a change of the rules needs no grading.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from pathlib import Path

from autograder.bulk.names import a_few, all_of
from autograder.bulk.overrides import Override, called_as, exact, load_overrides
from autograder.bulk.roster import HandedIn, Match, Roster, Student, load_roster
from autograder.bulk.store import Store
from autograder.bulk.submissions import Submission
from autograder.catalogue import Course, Exercise, Lesson
from autograder.errors import UsageError
from autograder.result import ExerciseResult, RunResult

_NOTHING_RUN = frozenset({"not-started", "refused", "skipped"})
_NOT_READ = " was not read: "  # so it is said of files

_BY_HAND = "This exercise was not graded by the course's checks; its score was set by hand."


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
    """One student.  ``name`` is the best that is known: the roster's, the download's, or the id.

    ``ungraded`` are the course's exercises that have neither a result nor a score set by hand.  ``doubt`` says why an
    id of this student is not to be trusted, and is empty if nothing speaks against it.
    """

    student: str
    name: str
    roster: Student | None
    submission: Submission | None
    result: RunResult
    exercises: tuple[ExerciseGrade, ...]
    ungraded: tuple[Exercise, ...] = ()
    doubt: str = ""

    def never_graded(self, with_bonus: bool = False) -> tuple[str, ...]:
        """Ids of the exercises without which there is no total; optional ones are in none unless bonus is."""
        return tuple(exercise.id for exercise in self.ungraded if with_bonus or not exercise.optional)

    def only(self, ids: Collection[str]) -> StudentGrade:
        """The same student, as if the course had no exercises but these."""
        return replace(
            self,
            exercises=tuple(item for item in self.exercises if item.result.id in ids),
            ungraded=tuple(exercise for exercise in self.ungraded if exercise.id in ids),
        )

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
    """Everyone's grades, by id, and sentences about who could not be found in the roster, or in the results.

    ``waiting`` are the ids of those who handed in and are not graded yet, or only before that was handed in.
    """

    students: tuple[StudentGrade, ...]
    roster: Roster
    notes: tuple[str, ...] = ()
    waiting: tuple[str, ...] = ()

    def only(self, ids: Collection[str]) -> ClassGrades:
        """The same class, as if the course had no exercises but these."""
        return replace(self, students=tuple(student.only(ids) for student in self.students))


def class_grades(course: Course, out: Path, roster: Path | None = None) -> ClassGrades:
    """The grades of all results under ``out``; ``roster`` is a CSV, by default the one that grading was given.

    Raises:
        UsageError: there are no results, or the roster or the overrides cannot be read.
    """
    reading = GradesReader(course, out, roster)
    students = tuple(reading)
    if not students and reading.outdated and not reading.damaged:
        raise UsageError(f"No result in {out} is of what was handed in last. {' '.join(reading.not_graded())}")
    if not students:
        damaged = "".join(f" {note}" for note in reading.damaged)
        raise UsageError(f"There are no results in {out}. Run `course grade` with --out {out} first.{damaged}")
    return ClassGrades(students, reading.roster, reading.notes(), reading.waiting)


class GradesReader:
    """Reads the grades under ``out`` one student after another, for those who need not hold them all.

    Once all have been read, ``damaged`` has a sentence on each result that cannot be read, ``outdated`` says by id why
    a result counts as none, ``unusable`` are the ids of those in whose hand-ins nothing could be graded, and ``unread``
    says by id what was not read of hand-ins of which nothing was run.  ``without_total`` counts those of whom not all
    exercises were graded.

    Raises:
        UsageError: the roster or the overrides cannot be read.
    """

    def __init__(self, course: Course, out: Path, roster: Path | None = None) -> None:
        self._course = course
        self._store = Store(out)
        self.roster = load_roster(roster) if roster is not None else self._store.roster()
        self._students = self._store.students()
        self._overrides = called_as(load_overrides(self._store.overrides), self._students)
        self._submissions = self._store.submissions()
        self._due = self._store.due()
        self._never = sorted(set(self._due.everyone) - set(self._students))
        self.outdated: dict[str, str] = {}
        everyone = (*self._students, *self._never)
        self._matches = self.roster.match_all({student: self._handed_in(student) for student in everyone})
        self._foreign_ids = self.roster.foreign_ids(everyone)
        self.damaged: list[str] = []
        self._notes: list[str] = []
        self._matched: dict[int, list[str]] = {}
        self._known = {exercise.id for exercise in course.exercises}
        self._exercises = {exercise.id for exercise in course.exercises}
        self._read = self._untimed = 0
        self.unusable: list[str] = []
        self.unread: dict[str, str] = {}
        self.without_total = 0
        self._called_late: list[str] = []

    @property
    def waiting(self) -> tuple[str, ...]:
        """Who handed in and is not graded yet, or only before that was handed in; complete once all have been read."""
        return tuple(sorted((*self._never, *self.outdated)))

    def __iter__(self) -> Iterator[StudentGrade]:
        for student in self._students:
            result = self._store.read(student)
            submission = self._submission(student)
            match = self._match(student)
            if result is None:
                self.damaged.append(f"{student}: the result is damaged; run `course grade` again.")
                self._notes.append(self.damaged[-1])
                continue
            if why := self._due.outdated(student, result, self._exercises):
                self.outdated[student] = why
                continue
            if match.row is None and self.roster.students:
                self._notes.append(f"{student}: not found in the roster{f': {match.why}' if match.why else ''}.")
            self._read += 1
            if not _tells_lateness(submission, match.row):
                self._untimed += 1
                self._called_late += [student] if match.row is not None and match.row.called_late else []
            if result.error is not None and not any(item.outcome == "grader-error" for item in result.exercises):
                self.unusable.append(student)
            elif unread := unread_files(result):
                self.unread[student] = unread
            grade = self._grade(student, result, submission, match)
            self.without_total += bool(grade.never_graded())
            yield grade

    def notes(self) -> tuple[str, ...]:
        """Sentences about who could not be found, and what counts nowhere; complete once all have been read."""
        rows = self.roster.students
        waiting = {id(row) for student in self._never for row in self._matches[student].rows}
        shared = [
            f"{' and '.join(self._matched[id(row)])}: all fit {_called(row)} in the roster."
            for row in rows
            if len(self._matched.get(id(row), ())) > 1
        ]
        names = all_of([_called(row) for row in rows if id(row) not in (self._matched.keys() | waiting)])
        missing = [f"In the roster, and without a hand-in: {names}."] if names else []
        return (
            *self.not_graded(),
            *([self._foreign_ids] if self._foreign_ids else []),
            *self._notes,
            *shared,
            *missing,
            *self._stray_overrides(),
            *self._late_for_nothing(),
            *self._times_missing(),
        )

    def not_graded(self) -> tuple[str, ...]:
        """Sentences if grading was stopped, was told to grade only some, or has not seen what was handed in since."""
        waiting = self.waiting
        if not waiting:
            return ()
        counted = "1 hand-in is" if len(waiting) == 1 else f"{len(waiting)} hand-ins are"
        reasons: dict[str, list[str]] = {}
        for student, why in sorted(self.outdated.items()):
            reasons.setdefault(why, []).append(student)
        return (
            f"{counted} not graded yet: {a_few(waiting)}. Run `course grade` again.",
            *(
                f"Graded {why}, so that the old result is kept and counts nowhere: {', '.join(names)}."
                for why, names in reasons.items()
            ),
        )

    def _late_for_nothing(self) -> tuple[str, ...]:
        """A sentence if the LMS calls hand-ins late and the course has no deadline that they could have missed."""
        late = [name for name in self._students if (found := self._submissions.get(name)) is not None and found.late]
        if not late or any(lesson.deadline for lesson in self._course.lessons):
            return ()
        counted = "1 hand-in is" if len(late) == 1 else f"{len(late)} hand-ins are"
        return (
            f"{counted} late for the LMS ({a_few(late)}), and no lesson has a deadline: nothing is taken off. "
            "Write the deadline into course/course.toml if it is to count.",
        )

    def _times_missing(self) -> tuple[str, ...]:
        """A sentence if there is a deadline and it cannot be known who kept it; complete once all have been read."""
        if not self._untimed or not any(lesson.deadline for lesson in self._course.lessons):
            return ()
        return (
            f"There is a deadline, and for {self._untimed} of {self._read} hand-ins no time is known: they "
            f"count as on time{self._in_words()}. Give the times in a column `submitted` of the roster.",
        )

    def _in_words(self) -> str:
        """Whom the roster calls late without a time; complete once all have been read."""
        late = self._called_late
        one = len(late) == 1
        return (
            f", though the roster's Status calls {'one' if one else len(late)} of them late ({a_few(late)})"
            if late
            else ""
        )

    def _submission(self, student: str) -> Submission | None:
        found = self._submissions.get(student)
        if found is not None and found.submitted is not None and found.submitted.tzinfo is None:
            self._notes.append(f"{student}: the time of handing in has no time zone in collected.json and is not used.")
            return replace(found, submitted=None)
        return found

    def _handed_in(self, student: str) -> HandedIn:
        submission = self._submissions.get(student)
        return HandedIn(submission.name, submission.lms_id, submission.lms) if submission is not None else HandedIn()

    def _match(self, student: str) -> Match:
        match = self._matches[student]
        for row in match.rows:
            of_row = self._matched.setdefault(id(row), [])
            if match.row is row:
                of_row.append(student)
        return match

    def _grade(self, student: str, result: RunResult, submission: Submission | None, match: Match) -> StudentGrade:
        row = match.row
        name = submission.name if submission else ""
        overrides = self._overrides.get(student, {})
        result = _with_scores_by_hand(self._course, result, overrides)
        graded = {exercise.id for exercise in result.exercises}
        self._notes += [
            f"{student}: {item.id} was set to {exact(by_hand.score)} by hand, which is more than its {item.points:g}."
            for item in result.exercises
            if (by_hand := overrides.get(item.id)) is not None and by_hand.score > item.points
        ]
        self._known |= graded
        return StudentGrade(
            student=student,
            name=(row.name if row and row.name else name) or student,
            roster=row,
            submission=submission,
            result=result,
            exercises=_grades(self._course, result, row, submission, overrides),
            ungraded=tuple(exercise for exercise in self._course.exercises if exercise.id not in graded),
            doubt=match.why if match.stopped else "",
        )

    def _stray_overrides(self) -> list[str]:
        """Lines that count nowhere."""
        strays = []
        for student, items in self._overrides.items():
            if student not in self._students:
                strays.append(f"overrides.csv sets scores of {student}, who has no result: they count nowhere.")
                continue
            strays += [
                f"overrides.csv sets a score of {student} for {exercise}, which is no exercise: it counts nowhere."
                for exercise in items
                if exercise not in self._known
            ]
        return strays


def _called(row: Student) -> str:
    return row.name or row.student or row.login or row.email or row.lms_id or row.sis_user_id


def unread_files(result: RunResult) -> str:
    """What is said of files that were not read, as one too large, if nothing of the hand-in was run; or nothing."""
    if any(exercise.outcome not in _NOTHING_RUN for exercise in result.exercises):
        return ""
    said = (*result.notes, *(exercise.message for exercise in result.exercises))
    return " ".join(dict.fromkeys(sentence for sentence in said if _NOT_READ in sentence))


def _with_scores_by_hand(course: Course, result: RunResult, overrides: Mapping[str, Override]) -> RunResult:
    """The result with an exercise for each score that was set by hand where nothing had been graded."""
    found = {exercise.id: exercise for exercise in result.exercises}
    new = {
        exercise.id: ExerciseResult(
            id=exercise.id,
            lesson=exercise.lesson,
            title=exercise.title,
            points=exercise.points,
            score=0.0,
            optional=exercise.optional,
            outcome="skipped",
            seconds=0.0,
            file=None,
            line=None,
            counts=not exercise.optional,
            message=_BY_HAND,
        )
        for exercise in course.exercises
        if exercise.id in overrides and exercise.id not in found
    }
    if not new:
        return result
    every = {**found, **new}
    order = [exercise.id for exercise in course.exercises if exercise.id in every]
    return replace(result, exercises=tuple(every[name] for name in dict.fromkeys((*order, *found))))


def lateness(course: Course, lesson: Lesson, student: Student | None, submission: Submission | None) -> Lateness | None:
    """What a lesson's hand-in costs for being late; None if it is not, or if nobody knows.

    The course's grace moves the deadline: days are counted from its end.
    """
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
        grace = course.late.grace
        if over <= grace:
            return None
        days = math.ceil((over - grace) / timedelta(days=1))
        how = f"handed in {_span(over)} after the deadline of {deadline:%Y-%m-%d %H:%M %Z}"
        how += f", with {_span(grace)} of grace" if grace else ""
    lost = min(course.late.at_most, days * course.late.per_day)
    sentence = f"Lesson {lesson.number}: {how}. That costs {100 * lost:.3g}% of its score."
    return Lateness(lesson.number, days, 1 - lost, sentence)


def _tells_lateness(submission: Submission | None, row: Student | None) -> bool:
    """Whether it is known when somebody handed in, or at least, as in Canvas's names, whether it was late."""
    if row is not None and row.submitted is not None:
        return True
    return submission is not None and (
        submission.submitted is not None or submission.late or submission.lms == "canvas"
    )


def _deadline(lesson: Lesson, student: Student | None) -> datetime | None:
    deadline = lesson.deadline
    if deadline is None or student is None:
        return deadline
    if student.extended_to is not None:
        return max(deadline, student.extended_to)
    try:
        return deadline + (student.extension or timedelta(0))
    except OverflowError:  # a deadline at the end of time
        return deadline


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
