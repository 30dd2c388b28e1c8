"""Writes the pages of a class into the folder of its results: each whole or not at all."""

from __future__ import annotations

import difflib
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

from autograder.bulk.grades import ClassGrades, StudentGrade
from autograder.bulk.lms_zips import Zips, write_zips
from autograder.bulk.store import Store
from autograder.errors import UsageError
from autograder.release.files import write_whole
from autograder.reports.html.class_report import class_report
from autograder.reports.html.comments import FOLDER, Comments, read_comments, strangers
from autograder.reports.html.feedback import feedback_page
from autograder.similarity import Similar

Pictures = Callable[[StudentGrade], Mapping[str, str]]
"""The pictures of one student: an SVG by exercise id."""


@dataclass(frozen=True, slots=True)
class Written:
    """What `write_feedback` wrote: ``zips`` is None where only one student's page was asked for.

    ``unread`` are the students whose comments could not be read, and are not on their pages.
    """

    folder: Path
    pages: int
    commented: int
    zips: Zips | None
    notes: tuple[str, ...]
    unread: tuple[str, ...] = ()


def page_path(store: Store, student: str) -> Path:
    """Where a student's feedback page lies."""
    return store.feedback / f"{student}.html"


def write_feedback(
    course_title: str,
    grades: ClassGrades,
    store: Store,
    student: str | None = None,
    pictures: Pictures | None = None,
) -> Written:
    """Write the feedback pages of a class, or of one ``student``, and the zips for learning platforms.

    Raises:
        UsageError: there is no such student, or a page cannot be written.
    """
    chosen = [item for item in grades.students if student is None or item.student == student]
    if not chosen and student in grades.waiting:
        raise UsageError(f"The hand-in of {student} is not graded yet. Run `course grade` again.")
    if not chosen:
        raise UsageError(f"There is no result of {student!r} in {store.results}. The ids are the names of the files.")
    _make_folder(store.feedback)
    commented = 0
    notes: list[str] = []
    unread: list[str] = []
    for item in chosen:
        try:
            comments = read_comments(store.out, item.student, {grade.result.id for grade in item.exercises})
        except UsageError as error:
            comments = Comments()
            unread.append(item.student)
            notes.append(f"{error} The page of {item.student} is without them.")
        notes += _stray_headings(item, comments)
        commented += bool(comments.general or comments.exercises)
        page = feedback_page(course_title, item, comments, pictures(item) if pictures else None)
        write_whole(page_path(store, item.student), page.encode())
    if student is not None:
        return Written(store.feedback, len(chosen), commented, None, tuple(notes), tuple(unread))
    everyone = {item.student for item in grades.students}
    notes += [f"{FOLDER}/{name} belongs to no student with a result." for name in strangers(store.out, everyone)]
    old = [path.name for path in sorted(store.feedback.glob("*.html")) if path.stem not in everyone]
    if old:
        notes.append(
            "Old pages of students whose result is gone, damaged or of an earlier hand-in are left in "
            f"{store.feedback}: {', '.join(old)}."
        )
    zips = write_zips(store.feedback, grades.students)
    return Written(store.feedback, len(chosen), commented, zips, (*notes, *zips.notes), tuple(unread))


def _stray_headings(grade: StudentGrade, comments: Comments) -> list[str]:
    """A sentence for each heading in the comments that is no exercise's."""
    known = [item.result.id for item in grade.exercises]
    found = []
    for heading in comments.strays:
        close = difflib.get_close_matches(heading, known, 1)
        meant = f" Did you mean {close[0]}?" if close else ""
        found.append(
            f"{FOLDER}/{grade.student}: ## {heading} is no exercise, and stands there as ordinary text.{meant}"
        )
    return found


def write_report(course_title: str, grades: ClassGrades, store: Store, similar: Similar | None = None) -> int:
    """Write the report on a class; the number of its students whose feedback page is not there yet.

    ``similar`` are hand-ins to read side by side, if they were looked for.

    Raises:
        UsageError: it cannot be written.
    """
    write_whole(store.report, class_report(course_title, grades, similar).encode())
    return sum(not page_path(store, item.student).exists() for item in grades.students)


def _make_folder(folder: Path) -> None:
    try:
        folder.mkdir(exist_ok=True)
    except OSError as error:
        raise UsageError(f"{folder} cannot be made ({(error.strerror or str(error)).lower()}).") from None
