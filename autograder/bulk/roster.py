"""The roster: a CSV with the students of a class, their ids in the LMS, and their extensions.

A table of the kit's own columns, Canvas's gradebook export and Moodle's grading worksheet are all understood as they
are; columns that nobody knows are ignored.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from pathlib import Path

from autograder.bulk.names import a_few, contradict, folded, same_name
from autograder.bulk.sheets import read_sheet
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
_DAYS = re.compile(r"(\d+(?:[.,]\d+)?)\s*(?:d|days?)?", re.IGNORECASE | re.ASCII)
_LATE = re.compile(r"\blate\b", re.IGNORECASE)
_MOST_DAYS = 3660  # of an extension; more is a typing error
_ANONYMOUS = "anon_"  # how the kit names who is anonymous in Canvas: by an id that its gradebook does not know


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

    @property
    def called_late(self) -> str:
        """What Moodle's worksheet says in its column ``Status`` of who is late, in words; else empty."""
        status = next((cell for column, cell in self.row.items() if column.strip().casefold() == "status"), "")
        return " ".join(status.split()) if _LATE.search(status) else ""


@dataclass(frozen=True, slots=True)
class Match:
    """Who somebody is: ``row``, or None with a reason in ``why`` if there is one to tell.

    ``stopped`` means that an id led to ``rows`` and something spoke against them: no id of this student is to be
    trusted.  ``rows`` are those that were considered.  ``by_name`` means that nothing but the name led to ``row``.
    """

    row: Student | None = None
    why: str = ""
    rows: tuple[Student, ...] = ()
    stopped: bool = False
    by_name: bool = False


@dataclass(frozen=True, slots=True)
class HandedIn:
    """What is known of whoever handed in: the name, and the id in the LMS of that kind."""

    name: str = ""
    lms_id: str | None = None
    lms: str = ""


@dataclass(frozen=True, slots=True)
class Roster:
    """The rows of a roster in their order, and the names of its columns.

    Without ``own_ids`` its column ``student_id`` is another's, such as a university's own numbers, and is passed over.
    """

    students: tuple[Student, ...] = ()
    columns: tuple[str, ...] = ()
    own_ids: bool = True

    @property
    def lms(self) -> str | None:
        """Whose export it is, "canvas" or "moodle"; None if it is a table of the kit's own."""
        columns = {column.strip().casefold() for column in self.columns}
        if "identifier" in columns:
            return "moodle"
        return "canvas" if {"student", "id", "section"} <= columns else None

    def find(self, student: str, name: str = "", lms_id: str | None = None, lms: str = "") -> Student | None:
        """The row of the student whom the kit calls ``student``; None if none, or more than one, fits."""
        return self.match(student, name, lms_id, lms).row

    def match(self, student: str, name: str = "", lms_id: str | None = None, lms: str = "") -> Match:
        """Look for the row of ``student``, who handed in under ``name`` and ``lms_id`` in ``lms``, if that is known.

        The column of the kit's own ids decides.  Else an id is compared with ids of its kind only: a Canvas user's with
        Canvas's, a Moodle participant's with Moodle's, the number or e-mail in Gradescope's list with those.  A plain
        folder is somebody's if its whole name is a login, an e-mail or a number, or if it ends in one of the ids of a
        student whose name it begins with.  Last come names that nobody else has.  A row whose name contradicts an id
        is nobody's, and a row with another's ``student_id`` is that other's alone.
        """
        own = self._rows(lambda row: self.own_ids and row.student != "" and row.student in (student, student.strip()))
        if len(own) > 1:
            return Match(None, f"{student} is in the roster twice. Remove one of its lines", own, True)
        if own:
            return Match(own[0], rows=own)
        kind, found = self._by_id(student, name, lms_id, lms)
        if len(found) > 1:
            return Match(None, f"its {kind} fits more than one line of the roster", found, True)
        if found and contradict(name, found[0].name):
            why = f"its {kind} is that of {found[0].name} in the roster, and it was handed in by {name}"
            return Match(None, why, found, True)
        if found and self._is_anothers(found[0], student):
            why = f"its {kind} is that of {_own_words(found[0])} in the roster"
            return Match(None, why, found, True)
        return Match(found[0], rows=found) if found else self._by_name(student, name, lms_id, lms)

    def match_all(self, students: Mapping[str, HandedIn]) -> Mapping[str, Match]:
        """The match of everybody who handed in, by the kit's ids.

        A row to which only the name leads is somebody's if nobody else fits it: of two hand-ins of one name it cannot
        be known whose it is.  A column of ids in which nobody's id stands is not the kit's: see `foreign_ids`.
        """
        reading = replace(self, own_ids=False) if self.foreign_ids(students) else self
        found = {
            student: reading.match(student, known.name, known.lms_id, known.lms) for student, known in students.items()
        }
        fitting: dict[int, list[str]] = {}
        for student, match in found.items():
            if match.row is not None:
                fitting.setdefault(id(match.row), []).append(student)
        return {student: _unless_shared(student, match, fitting) for student, match in found.items()}

    def foreign_ids(self, students: Collection[str]) -> str:
        """A sentence if the column of the kit's ids holds no id of ``students``, all who handed in; else ""."""
        column = " ".join((_column(self.columns, _COLUMNS["student"]) or "").split())
        given = {row.student for row in self.students} - {""}
        if not students or not given or any(not given.isdisjoint(_own_ids(student)) for student in students):
            return ""
        return (
            f"The roster's column {column} holds the id of no hand-in and was passed over: "
            "everybody was looked for by the other columns."
        )

    def _rows(self, fits: Callable[[Student], bool]) -> tuple[Student, ...]:
        return tuple(row for row in self.students if fits(row))

    def _by_id(self, student: str, name: str, lms_id: str | None, lms: str) -> tuple[str, tuple[Student, ...]]:
        """What the id is, and the rows with it."""
        if lms in ("canvas", "moodle"):
            comparable = self._has_ids_of(student, lms)
            found = self._rows(lambda row: comparable and bool(lms_id) and row.lms_id == lms_id)
            return f"{'Canvas id' if lms == 'canvas' else 'Moodle participant number'} {lms_id}", found
        if lms == "gradescope":
            return "number or e-mail", self._rows(lambda row: _ends_in_own_id(student, row, lms_id))
        whole = self._rows(lambda row: student in (row.login, row.email, row.sis_user_id, _local_part(row.email)))
        if whole:  # the same number may be another's id in the LMS
            return f"name {student}", whole + self._rows(lambda row: row.lms_id == student and row not in whole)
        label, _, tail = student.rpartition("_")
        labelled = self._rows(lambda row: _has_id(row, tail) and same_name(label, row.name))
        if labelled or lms_id is None:
            return f"number {tail}", labelled
        return f"id {lms_id}", self._rows(lambda row: row.lms_id == lms_id and same_name(name, row.name))

    def _by_name(self, student: str, name: str, lms_id: str | None, lms: str) -> Match:
        wanted = {folded(name), folded(student)} - {""}
        found = self._rows(lambda row: folded(row.name) in wanted)
        same = tuple(row for row in found if not self._namesake(row, student, lms_id, lms))
        if len(same) == 1:
            return Match(same[0], rows=same, by_name=True)
        if same:
            return Match(None, f"the roster has {same[0].name} more than once, and no id says which", same)
        if found and all(self._is_anothers(row, student) for row in found):
            return Match(None, f"the line of {found[0].name} in the roster is that of {_own_words(found[0])}")
        if found:
            return Match(None, f"{found[0].name} in the roster has another id than the hand-in", found)
        label, _, tail = student.rpartition("_")
        others = self._rows(lambda row: lms in ("", "folder") and bool(label) and _has_id(row, tail))
        if others:
            return Match(None, f"the number {tail} is that of {others[0].name}, and the names differ")
        return Match()

    def _namesake(self, row: Student, student: str, lms_id: str | None, lms: str) -> bool:
        """Whether the row is another's of the same name, since both have an id of one kind and these differ."""
        if self._is_anothers(row, student):
            return True
        if lms == "gradescope":
            tail = student.rpartition("_")[2]
            numbered = "_" in student and tail != lms_id and "@" not in tail
            return numbered and row.sis_user_id not in ("", tail)
        comparable = lms not in ("canvas", "moodle") or self._has_ids_of(student, lms)
        return comparable and lms_id is not None and row.lms_id not in ("", lms_id)

    def _has_ids_of(self, student: str, lms: str) -> bool:
        return self.lms in (None, lms) and not (lms == "canvas" and student.startswith(_ANONYMOUS))

    def _is_anothers(self, row: Student, student: str) -> bool:
        """Whether the row says in ``student_id`` that it is another student's."""
        return self.own_ids and row.student not in ("", *_own_ids(student))


def _own_ids(student: str) -> tuple[str, ...]:
    """What may stand in ``student_id`` for a student: the kit's name, or the id at its end alone."""
    return student, student.strip(), student.rpartition("_")[2]


def _own_words(row: Student) -> str:
    """A row with a ``student_id``, as sentences call it."""
    return f"student_id {row.student}"


def _unless_shared(student: str, match: Match, fitting: Mapping[int, Sequence[str]]) -> Match:
    """The match, or none if it is by name and the row fits others too."""
    if match.row is None or not match.by_name:
        return match
    others = [other for other in fitting[id(match.row)] if other != student]
    if not others:
        return match
    why = f"{match.row.name} in the roster fits {a_few(others)} too. A column student_id says who is meant"
    return Match(None, why, match.rows)


def _has_id(row: Student, tail: str) -> bool:
    return tail != "" and tail in (row.lms_id, row.sis_user_id, row.email)


def _ends_in_own_id(student: str, row: Student, submission: str | None) -> bool:
    """Whether a folder from Gradescope ends in the row's number or e-mail; without these it ends in a submission's."""
    own = (value for value in (row.sis_user_id, row.email) if value and value != submission)
    return any(student.casefold().endswith(f"_{value.casefold()}") for value in own)


def _local_part(email: str) -> str:
    return email.partition("@")[0]


def load_roster(path: Path) -> Roster:
    """Read a roster.

    Raises:
        UsageError: there is no such file, it is no CSV with a column of names or ids, or an extension is unreadable.
    """
    try:
        columns, lines = read_sheet(path, f"The roster {path}")
    except FileNotFoundError:
        raise UsageError(f"The roster {path} cannot be read (no such file or directory).") from None
    known = {field: _column(columns, names) for field, names in _COLUMNS.items()}
    if not any(known[field] for field in ("student", "name", "lms_id", "login", "email")):
        raise UsageError(
            f"The roster {path} has no column that names students. Its first line must hold one of: "
            "student_id, name, email, ID (Canvas), Identifier (Moodle)."
        )
    students = []
    for line in lines:
        values = {field: line.cells.get(column, "").strip() if column else "" for field, column in known.items()}
        if _NOT_STUDENTS.fullmatch(values["name"]) or not any(values.values()):
            continue
        students.append(_student(values, line.cells, f"{path}, line {line.number}"))
    return Roster(tuple(students), columns)


def _column(columns: tuple[str, ...], names: tuple[str, ...]) -> str | None:
    known = {column.strip().casefold(): column for column in columns if column}
    return next((known[name] for name in names if name in known), None)


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
        days = float(match[1].replace(",", "."))
        if days > _MOST_DAYS:
            raise UsageError(f"{place}: an extension of {text!r} days is too long. It may have {_MOST_DAYS} at most.")
        return timedelta(days=days), None
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
