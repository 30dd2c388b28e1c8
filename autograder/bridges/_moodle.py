"""Moodle's offline grading worksheet, filled in; or one made from the participant numbers of a download.

Moodle finds three columns by their English names and takes a student by ``Identifier``.  It leaves a grade alone that
was changed after the worksheet's ``Last modified (grade)``, so that column stays as it is.  A column of comments, even
an empty one, would replace the comments in Moodle: a worksheet's is kept, and one made here has none.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from autograder.bridges._marks import Options, Ready, full_marks, ids_in, notes_on_points, ready, scaled, total
from autograder.bridges._sheet import Sheet
from autograder.bulk.grades import ClassGrades, StudentGrade
from autograder.bulk.roster import Student
from autograder.bulk.table import harmless, number
from autograder.errors import UsageError

_IDENTIFIER, _GRADE, _MODIFIED = "Identifier", "Grade", "Last modified (grade)"
_AS_IT_WAS = frozenset({_IDENTIFIER, _MODIFIED, "Feedback comments"})  # read by Moodle: an apostrophe would get into it
_NEVER = "-"
_TICK = "Allow updating records that have been modified more recently in Moodle than in the spreadsheet."


def to_moodle(grades: ClassGrades, options: Options) -> Sheet:
    """The worksheet that was given as roster with its grades filled in, else a new one.

    Raises:
        UsageError: the worksheet's assignment cannot take these points.
    """
    fine = ready(grades.students, options.with_bonus)
    columns = grades.roster.columns
    if {_IDENTIFIER, _GRADE, _MODIFIED} <= set(columns):
        return _filled(grades, fine, options)
    if columns and any(column.strip() == _IDENTIFIER for column in columns):
        missing = [name for name in (_GRADE, _MODIFIED) if name not in columns]
        raise UsageError(
            f"The worksheet has no column {' and '.join(missing)}, which Moodle wants back. "
            "Download the grading worksheet again, with Moodle set to English."
        )
    return _made(grades, fine, options)


def _filled(grades: ClassGrades, fine: Ready, options: Options) -> Sheet:
    columns = grades.roster.columns
    full = options.out_of if options.out_of is not None else full_marks(fine.students)
    most = next((column for column in columns if column.strip().casefold() == "maximum grade"), None)
    if most is None and any(column.strip().casefold() == "scale" for column in columns):
        raise UsageError("This Moodle assignment is graded on a scale. Set its grade type to points, and try again.")
    marks, left_out = _by_row(fine.students)
    left_out = [*fine.left_out, *left_out]
    rows: list[tuple[str, ...]] = [columns]
    for row in grades.roster.students:
        student = marks.get(id(row))
        mark = row.row.get(_GRADE, "")
        if student is not None:
            limit = _limit(row, most, full, fixed=options.out_of is not None)
            points = scaled(total(student, options), fine.students, options)
            if row.row.get("Grade can be changed", "").strip().casefold() == "no":
                left_out.append(f"{student.student}: Moodle has locked this grade.")
            elif limit is not None and points > limit + 1e-6:
                left_out.append(f"{student.student}: {number(points)} is over Moodle's maximum of {number(limit)}.")
            else:
                mark = number(points)
        rows.append(tuple(_cell(column, row.row, mark) for column in columns))
    return Sheet(tuple(rows), tuple(left_out), tuple(notes_on_points(fine.students, options)))


def _by_row(students: Sequence[StudentGrade]) -> tuple[dict[int, StudentGrade], list[str]]:
    """Students by the worksheet's row, and a sentence for each who has none of his own."""
    rows: dict[int, list[StudentGrade]] = {}
    left_out = []
    for student in students:
        submission = student.submission
        if student.roster is None:
            left_out.append(f"{student.student}: {student.doubt or 'not in the worksheet'}.")
        elif (
            submission is not None
            and submission.lms == "moodle"
            and submission.lms_id not in (None, student.roster.lms_id)
        ):
            left_out.append(
                f"{student.student}: the worksheet says participant {student.roster.lms_id} and the download "
                f"{submission.lms_id}. Is it the worksheet of this assignment?"
            )
        else:
            rows.setdefault(id(student.roster), []).append(student)
    for several in rows.values():
        if len(several) > 1:
            names = " and ".join(student.student for student in several)
            left_out.append(f"{names}: all fit one row of the worksheet. Remove the hand-ins that are wrong.")
    return {row: found[0] for row, found in rows.items() if len(found) == 1}, left_out


def _limit(row: Student, column: str | None, full: float, fixed: bool) -> float | None:
    """The assignment's maximum, which must be what full marks are."""
    try:
        value = float(row.row.get(column or "", "").replace(",", "."))
    except ValueError:
        return None
    if abs(value - full) > 1e-6:
        said = f"--out-of says {number(full)}" if fixed else f"full marks are {number(full)}"
        raise UsageError(
            f"The assignment's maximum grade in Moodle is {number(value)}, and {said}. "
            f"Change it in Moodle, or scale the grades with --out-of {number(value)}."
        )
    return value


def _cell(column: str, row: Mapping[str, str], mark: str) -> str:
    if column == _GRADE:
        return mark
    value = row.get(column, "")
    return value if column in _AS_IT_WAS or value == _NEVER else harmless(value)


def _made(grades: ClassGrades, fine: Ready, options: Options) -> Sheet:
    ids, without = ids_in("moodle", fine.students, grades.roster)
    rows = [(_IDENTIFIER, "Full name", "Email address", _GRADE, _MODIFIED)]
    for student in fine.students:
        if student.student in ids:
            mark = number(scaled(total(student, options), fine.students, options))
            email = student.roster.email if student.roster is not None else ""
            participant = f"Participant {ids[student.student]}"
            rows.append((participant, harmless(student.name), harmless(email), mark, _NEVER))
    full = options.out_of if options.out_of is not None else full_marks(fine.students)
    notes = [
        *notes_on_points(fine.students, options),
        f"Made without Moodle's worksheet: the assignment's maximum grade there must be {number(full)}, and for "
        f"students who have a grade already, tick '{_TICK}' when you upload.",
    ]
    return Sheet(tuple(rows), (*fine.left_out, *without), tuple(notes))
