"""``course feedback`` and ``course report``: pages for the students, and one for the instructor."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING

import click

from autograder.cli._refresh import refresh_grades
from autograder.cli._say import say
from autograder.cli.common import current_course, shared_options
from autograder.errors import EXIT_NOT_ALL, EXIT_OK, UsageError
from autograder.protocol import printable

if TYPE_CHECKING:
    from autograder.bulk.store import Store
    from autograder.catalogue import Course
    from autograder.similarity import Similar

_OUT = click.argument("out", type=click.Path(path_type=Path, file_okay=False))
_ROSTER = click.option(
    "--roster",
    type=click.Path(path_type=Path, dir_okay=False),
    help="The class list, for names and extensions; default: the one that grading was given.",
)


@click.command()
@_OUT
@_ROSTER
@click.option("--student", metavar="ID", help="Write this student's page alone, and leave the zips as they are.")
@shared_options
def feedback(out: Path, roster: Path | None, student: str | None) -> int:
    """Write a feedback page for each student with a result in OUT, and zips that Canvas and Moodle take back.

    A page shows public checks whole and hidden ones as a count. What you write into OUT/comments/ID.md is shown on
    it, with an exercise if it stands under a heading such as ## flash_attention.

    The exit code is 1 if such a file could not be read.

    \b
    Examples:
      course feedback graded
      course feedback graded --student doe_jane_1234
    """
    from autograder.bulk.grades import class_grades
    from autograder.bulk.store import Store
    from autograder.reports.html import write_feedback

    course = current_course()
    grades = class_grades(course, out, roster)
    made = write_feedback(course.title, grades, Store(out), student)
    notes = grades.notes if student is None else ()
    _say((*notes, *made.notes))
    refresh_grades(course, Store(out))
    commented = f", {made.commented} with comments of yours" if made.commented else ""
    say(f"Wrote {_counted(made.pages, 'feedback page')} to {made.folder}{commented}.")
    if made.zips is None:
        say("The zips for Canvas and Moodle, if there are any, are as they were.")
    else:
        for path, count in made.zips.written.items():
            say(f"Wrote {path} with the pages of {_counted(count, 'student')}.")
    return EXIT_NOT_ALL if made.unread else EXIT_OK


@click.command()
@_OUT
@_ROSTER
@click.option("--similar", is_flag=True, help="Also list hand-ins that share long passages, to read side by side.")
@shared_options
def report(out: Path, roster: Path | None, similar: bool) -> int:
    """Write OUT/report.html, one page on the whole class. It names hidden checks: keep it to yourself.

    \b
    Examples:
      course report graded
      course report graded --similar
    """
    from autograder.bulk.grades import class_grades
    from autograder.bulk.store import Store
    from autograder.reports.html import write_report

    course = current_course()
    grades = class_grades(course, out, roster)
    store = Store(out)
    alike = _similar(course, store) if similar else None
    without_page = write_report(course.title, grades, store, alike)
    _say(grades.notes)
    refresh_grades(course, store)
    if without_page:
        say(
            f"Note: the report links to feedback pages, and {without_page} of them are not there yet. "
            f"Run `course feedback {out}`.",
            err=True,
        )
    if alike is not None:
        say(f"{_counted(len(alike.pairs), 'pair')} of files to read side by side, of {alike.compared} compared.")
    say(f"Wrote {store.report} on {_counted(len(grades.students), 'student')}.")
    return EXIT_OK


def _similar(course: Course, store: Store) -> Similar:
    """What the hand-ins that grading found have in common.

    Raises:
        UsageError: they are not where they were.
    """
    from autograder.bulk.hand_ins import list_hand_ins
    from autograder.similarity import similar_hand_ins

    folder = store.due().folder
    if folder is None or not folder.is_dir():
        where = f"in {folder}, where grading found them" if folder is not None else "known, and the results are old"
        raise UsageError(f"The hand-ins are not {where}. Put them there, or run `course grade` again.")
    return similar_hand_ins(course, list_hand_ins(folder)[0])


def _say(notes: Iterable[str]) -> None:
    """Notes on stderr, one a line; names in them cannot move the cursor or colour the terminal."""
    for note in notes:
        say(f"Note: {printable(note)}".replace("\n", " "), err=True)


def _counted(number: int, noun: str) -> str:
    return f"{number} {noun}{'s' if number != 1 else ''}"
