"""The CSV that Canvas's gradebook imports.

Canvas reads the first five columns by their place, takes a student by ``ID``, and an assignment by the number in
``Title (number)``; a column without a number that it knows becomes a new assignment.
"""

from __future__ import annotations

import re
from pathlib import Path

from autograder.bridges._marks import (
    Options,
    full_marks,
    ids_in,
    notes_on_points,
    ready,
    scaled,
    total,
)
from autograder.bridges._sheet import Sheet
from autograder.bulk.grades import ClassGrades
from autograder.bulk.roster import Roster
from autograder.bulk.sheets import read_sheet
from autograder.bulk.table import harmless, number
from autograder.catalogue import Course
from autograder.errors import UsageError
from autograder.protocol import printable

_HEADER = ("Student", "ID", "SIS User ID", "SIS Login ID", "Section")
_POINTS = "Points Possible"
_EXCUSED = "EX"


def to_canvas(course: Course, grades: ClassGrades, options: Options, gradebook: Path | None) -> Sheet:
    """One column with the totals.  ``gradebook`` is the roster's file, read again if it is Canvas's own export.

    Raises:
        UsageError: more than one column fits the title, or the column cannot take these points.
    """
    fine = ready(grades.students, options.with_bonus)
    ids, without = ids_in("canvas", fine.students, grades.roster)
    wanted = options.column or course.title
    column = _column(grades.roster, wanted) if grades.roster.lms == "canvas" else None
    full = options.out_of if options.out_of is not None else full_marks(fine.students)
    points = number(full)
    if column is not None:
        known = _points_possible(gradebook, column) if gradebook is not None else ""
        _check_points(column, known, full, fixed=options.out_of is not None)
        points = known or points
    rows: list[tuple[str, ...]] = [(*_HEADER, column or harmless(wanted)), (_POINTS, "", "", "", "", points)]
    notes = notes_on_points(fine.students, options)
    for student in fine.students:
        if student.student not in ids:
            continue
        row = student.roster
        mark = number(scaled(total(student, options), fine.students, options))
        if column is not None and row is not None and row.row.get(column, "").strip().upper() == _EXCUSED:
            mark = _EXCUSED
            notes.append(f"{student.student}: excused in Canvas, and left so.")
        rest = (row.sis_user_id, row.login, row.section) if row is not None else ("", "", "")
        rows.append((harmless(student.name), ids[student.student], *map(harmless, rest), mark))
    if column is None:
        notes.append(f"Canvas will ask whether '{wanted}' is a new assignment, or which of yours it is.")
    return Sheet(tuple(rows), (*fine.left_out, *without), tuple(notes))


def _column(roster: Roster, wanted: str) -> str | None:
    """The roster's column of an assignment with that title, or with that title and number."""
    titled = re.compile(rf"{re.escape(wanted.strip())}(?: \(\d+\))?")
    fits = [column for column in roster.columns if titled.fullmatch(column.strip())]
    if len(fits) > 1:
        raise UsageError(f"Canvas has more than one assignment of this title. Name one with --column: {_list(fits)}.")
    return fits[0] if fits else None


def _points_possible(gradebook: Path, column: str) -> str:
    """What Canvas's export says in its row of points."""
    columns, lines = read_sheet(gradebook, f"The roster {gradebook}")
    for line in lines:
        if _POINTS in line.cells.get(columns[0], ""):
            return line.cells.get(column, "").strip()
    return ""


def _check_points(column: str, known: str, full: float, fixed: bool) -> None:
    if "read only" in known:
        raise UsageError(
            f"Canvas does not let '{_shown(column)}' be imported: its points are '{_shown(known)}'. "
            "Name another --column."
        )
    try:
        value = float(known.replace(",", "."))
    except ValueError:
        return
    if abs(value - full) > 1e-6:
        said = f"--out-of says {number(full)}" if fixed else f"full marks are {number(full)}"
        raise UsageError(
            f"'{_shown(column)}' is worth {number(value)} points in Canvas, and {said}. "
            f"Change it in Canvas, or scale the grades with --out-of {number(value)}."
        )


def _list(names: list[str]) -> str:
    return ", ".join(f"'{_shown(name)}'" for name in names)


def _shown(text: str) -> str:
    """A text of Canvas's file within a sentence."""
    return printable(text).replace("\n", " ")
