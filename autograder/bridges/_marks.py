"""Which students can be exported, the one number that an LMS takes of each, and the id by which it knows them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from autograder.bulk.grades import StudentGrade
from autograder.bulk.names import a_few
from autograder.bulk.roster import Roster
from autograder.bulk.table import number

# In anonymous assignments Canvas gives ids that its gradebook does not know.  Moodle's are those of the worksheet.
_ANONYMOUS = "anon_"


@dataclass(frozen=True, slots=True)
class Options:
    """What the instructor chose: the gradebook's column, the points of full marks, and whether bonus counts."""

    column: str | None = None
    out_of: float | None = None
    with_bonus: bool = False


@dataclass(frozen=True, slots=True)
class Ready:
    """Those whose grades can be given back, and a sentence for each of the others."""

    students: tuple[StudentGrade, ...]
    left_out: tuple[str, ...]


def ready(students: Sequence[StudentGrade], with_bonus: bool = False) -> Ready:
    """Sort out who has no grade yet: neither a fault of the grader nor what was never graded is a student's zero.

    Optional exercises have to be graded only ``with_bonus``.
    """
    fine: list[StudentGrade] = []
    left_out: list[str] = []
    ungraded: dict[tuple[str, ...], list[str]] = {}
    for student in students:
        if not student.result.exercises:
            left_out.append(f"{student.student}: nothing was graded. {student.result.error or ''}".rstrip())
        elif student.faults:
            left_out.append(
                f"{student.student}: a fault of the grader ended {', '.join(student.faults)}. "
                "Run `course grade` again, or set the score in overrides.csv."
            )
        elif never := student.never_graded(with_bonus):
            ungraded.setdefault(never, []).append(student.student)
        else:
            fine.append(student)
    for never, names in ungraded.items():
        who = "everyone" if 1 < len(names) == len(students) else ", ".join(names)
        left_out.append(
            f"{who}: never graded in {a_few(never)}. Grade that too (`course grade`), set the score with `course "
            "override`, or export what was graded alone, with --lesson or --exercise."
        )
    return Ready(tuple(fine), tuple(left_out))


def total(student: StudentGrade, options: Options) -> float:
    """A student's points, with bonus if wanted."""
    return round(student.score + (student.bonus if options.with_bonus else 0), 6)


def full_marks(students: Sequence[StudentGrade]) -> float:
    """The points of whoever could have most; less where an exercise could not run on the grading machine."""
    return max((student.points for student in students), default=0.0)


def scaled(value: float, students: Sequence[StudentGrade], options: Options) -> float:
    """A number of points, scaled so that full marks become ``options.out_of``."""
    full = full_marks(students)
    return value if options.out_of is None or full == 0 else value * options.out_of / full


def notes_on_points(students: Sequence[StudentGrade], options: Options) -> list[str]:
    """What the instructor should know about the totals."""
    notes = []
    full = full_marks(students)
    fewer = [student.student for student in students if student.points != full]
    if fewer:
        notes.append(
            f"Full marks are {number(full)} points, but {', '.join(fewer)} could have fewer: some exercises did not "
            "run where they were graded. Their totals are not scaled."
        )
    if not options.with_bonus and any(student.bonus for student in students):
        notes.append("Bonus points are not in the totals; --with-bonus adds them.")
    return notes


def ids_in(lms: str, students: Sequence[StudentGrade], roster: Roster) -> tuple[dict[str, str], list[str]]:
    """The ids by which ``lms`` ("canvas" or "moodle") knows the students, and a sentence for each who has none.

    The roster's id counts, else the download's.  Nothing is guessed: who is in doubt has none, nor has whose two ids
    differ, nor have two hand-ins with the same id.
    """
    found, without = {}, []
    other = roster.lms not in (None, lms)
    for student in students:
        if student.doubt:
            without.append(f"{student.student}: {student.doubt}. Correct the roster, or give it a column student_id.")
            continue
        by_roster = student.roster.lms_id if student.roster is not None and not other else ""
        by_roster = by_roster if by_roster.isascii() and by_roster.isdigit() else ""
        submission = student.submission
        by_download = (submission.lms_id or "") if submission is not None and submission.lms == lms else ""
        if lms == "canvas" and student.student.startswith(_ANONYMOUS):
            by_download = ""
        if by_roster and by_download and by_roster != by_download:
            without.append(
                f"{student.student}: the roster says {_NAMES[lms]} {by_roster} and the download {by_download}. "
                "Correct the roster."
            )
        elif by_roster or by_download:
            found[student.student] = by_roster or by_download
        else:
            without.append(f"{student.student}: no {_NAMES[lms]} is known. Name it in a roster, with --roster.")
    twice = {known for known, count in Counter(found.values()).items() if count > 1}
    for known in sorted(twice):
        both = [student for student, own in found.items() if own == known]
        without.append(f"{' and '.join(both)}: all have the {_NAMES[lms]} {known}. Remove the hand-ins that are wrong.")
    return {student: known for student, known in found.items() if known not in twice}, without


_NAMES = {"canvas": "Canvas id", "moodle": "Moodle participant number"}
