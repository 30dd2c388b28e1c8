"""The roster: a CSV with the students of a class, their ids in the LMS, and their extensions.

A table of the kit's own columns, Canvas's gradebook export and Moodle's grading worksheet are all understood as they
are; columns that nobody knows are ignored.
"""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from pathlib import Path

from autograder.errors import UsageError

# Column by field: our own name first, then those of Canvas's gradebook and of Moodle's worksheet.
_COLUMNS: Mapping[str, tuple[str, ...]] = {
    "student": ("student id", "student_id", "id in the kit"),
    "name": ("name", "student", "full name", "student name"),
    "email": ("email", "email address", "e-mail"),
    "lms_id": ("lms_id", "id", "identifier", "user id"),
    "sis_user_id": ("sis_user_id", "sis user id", "id number", "sid"),
    "login": ("login", "sis login id", "username"),
    "section": ("section", "sections"),
    "submitted": ("submitted",),
    "extension": ("extension",),
}
_NOT_STUDENTS = re.compile(r"\s*(points possible|student, test)\s*", re.IGNORECASE)
_PARTICIPANT = re.compile(r"participant\s+(\d+)", re.IGNORECASE)
_DAYS = re.compile(r"(\d+(?:\.\d+)?)\s*(?:d|days?)?", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Student:
    """One row; what is not known is an empty string or None.

    ``student`` is the id within the kit, where the roster gives it.  ``lms_id`` is Canvas's user id, or the digits of
    Moodle's "Participant 123".  ``extension`` moves every deadline by so much, ``extended_to`` moves it to that time.
    ``row`` is the row as it was read, by its own column names.
    """

    student: str
    name: str
    email: str
    lms_id: str
    sis_user_id: str
    login: str
    section: str
    submitted: datetime | None
    extension: timedelta | None
    extended_to: datetime | None
    row: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class Roster:
    """The rows of a roster in their order, and the names of its columns."""

    students: tuple[Student, ...] = ()
    columns: tuple[str, ...] = ()

    def find(self, student: str, name: str = "", lms_id: str | None = None) -> Student | None:
        """The row of the student whom the kit calls ``student``; None if none, or more than one, fits.

        Looked for by the kit's id, the LMS's id, login, e-mail and number, and the name, in this order.
        """
        tail = student.rpartition("_")[2]

        def namesake(row: Student) -> bool:
            return row.lms_id != "" and lms_id is not None and row.lms_id != lms_id

        tries: tuple[Callable[[Student], bool], ...] = (
            lambda row: row.student == student,
            lambda row: lms_id is not None and row.lms_id == lms_id,
            lambda row: tail != "" and tail in (row.lms_id, row.sis_user_id, row.email),
            lambda row: student in (row.login, row.email, row.sis_user_id, row.email.partition("@")[0]),
            lambda row: row.name != "" and _folded(row.name) in (_folded(name), _folded(student)) and not namesake(row),
        )
        for fits in tries:
            found = [row for row in self.students if fits(row)]
            if len(found) == 1:
                return found[0]
            if found:
                return None
        return None


def load_roster(path: Path) -> Roster:
    """Read a roster.

    Raises:
        UsageError: there is no such file, it is no CSV with a column of names or ids, or an extension is unreadable.
    """
    try:
        text = path.read_bytes().decode("utf-8-sig")
    except OSError as error:
        raise UsageError(f"The roster {path} cannot be read ({(error.strerror or str(error)).lower()}).") from None
    except UnicodeDecodeError:
        raise UsageError(f"The roster {path} is not UTF-8. Save it as 'CSV UTF-8' and try again.") from None
    reader = csv.DictReader(io.StringIO(text), dialect=_dialect(text))
    columns = tuple(reader.fieldnames or ())
    known = {field: _column(columns, names) for field, names in _COLUMNS.items()}
    if not any(known[field] for field in ("student", "name", "lms_id", "login", "email")):
        raise UsageError(
            f"The roster {path} has no column that names students. Its first line must hold one of: "
            "student_id, name, email, ID (Canvas), Identifier (Moodle)."
        )
    students = []
    for number, raw in enumerate(reader, start=2):
        row = {key: value for key, value in raw.items() if isinstance(key, str) and isinstance(value, str)}
        values = {field: row.get(column, "").strip() if column else "" for field, column in known.items()}
        if _NOT_STUDENTS.fullmatch(values["name"]) or not any(values.values()):
            continue
        students.append(_student(values, row, f"{path}, line {number}"))
    return Roster(tuple(students), columns)


def _dialect(text: str) -> type[csv.Dialect]:
    """Comma or semicolon, as spreadsheets of different countries write."""
    first = text.partition("\n")[0]

    class Separated(csv.excel):
        delimiter = ";" if first.count(";") > first.count(",") else ","

    return Separated


def _column(columns: tuple[str, ...], names: tuple[str, ...]) -> str | None:
    folded = {column.strip().casefold(): column for column in columns if column}
    return next((folded[name] for name in names if name in folded), None)


def _student(values: Mapping[str, str], row: Mapping[str, str], place: str) -> Student:
    lms_id = values["lms_id"]
    if match := _PARTICIPANT.fullmatch(lms_id):
        lms_id = match[1]
    extension, extended_to = _extension(values["extension"], place)
    return Student(
        student=values["student"],
        name=values["name"],
        email=values["email"],
        lms_id=lms_id,
        sis_user_id=values["sis_user_id"],
        login=values["login"],
        section=values["section"],
        submitted=_time(values["submitted"], place, "submitted") if values["submitted"] else None,
        extension=extension,
        extended_to=extended_to,
        row=row,
    )


def _extension(text: str, place: str) -> tuple[timedelta | None, datetime | None]:
    if not text:
        return None, None
    if match := _DAYS.fullmatch(text):
        return timedelta(days=float(match[1])), None
    return None, _time(text, place, "extension")


def _time(text: str, place: str, column: str) -> datetime:
    try:
        time = datetime.fromisoformat(text)
    except ValueError:
        time = None
    if time is None or time.tzinfo is None:
        days = " or a number of days," if column == "extension" else ""
        raise UsageError(
            f"{place}: {text!r} in column {column} is no time with a zone. Write 2026-12-01T23:59+01:00,"
            f"{days} or leave it empty."
        )
    return time


def _folded(name: str) -> str:
    """A name for comparison: 'Doe, Jane' and 'jane doe' are the same."""
    family, comma, given = name.partition(",")
    text = f"{given} {family}" if comma else name
    return " ".join(text.casefold().split())
