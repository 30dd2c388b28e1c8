"""``course export``: the grades of a class in the formats of Canvas, Moodle, Gradescope and nbgrader, or as a table."""

from __future__ import annotations

import json
import math
import sys
from collections.abc import Collection, Iterable
from pathlib import Path

import click

from autograder.bridges import (
    Options,
    csv_bytes,
    csv_text,
    ready,
    results_document,
    to_canvas,
    to_moodle,
    write_gradebook,
)
from autograder.bulk.exported import note_export, refuse_foreign, refuse_own_input
from autograder.bulk.grades import ClassGrades, class_grades
from autograder.bulk.names import a_few
from autograder.bulk.store import Store
from autograder.bulk.table import class_csv
from autograder.cli._refresh import refresh_grades
from autograder.cli._say import say
from autograder.cli._selection import exercise_option, lesson_option
from autograder.cli.common import current_course, shared_options
from autograder.errors import EXIT_NOT_ALL, EXIT_OK, UsageError
from autograder.protocol import printable
from autograder.release.files import write_whole

_TARGETS = ("canvas", "moodle", "csv", "nbgrader", "gradescope")
_CSV = ("canvas", "moodle", "csv")
# Which targets an option means something for.
_MEANT_FOR = {
    "--column": ("canvas",),
    "--out-of": ("canvas", "moodle"),
    "--with-bonus": ("canvas", "moodle", "nbgrader", "gradescope"),
    "--excel": _CSV,
    "--replace": (*_CSV, "gradescope"),
    "--python": ("nbgrader",),
    "--student": ("gradescope",),
    "--exercise": ("canvas", "moodle", "csv", "gradescope"),  # lateness is taken off nbgrader's whole notebooks
}


@click.command()
@click.argument("results", metavar="OUT", type=click.Path(path_type=Path))
@click.option("--to", "target", type=click.Choice(_TARGETS), required=True, help="Who is to read it.")
@click.option("--out", type=click.Path(path_type=Path), help="Where it goes; CSVs go to stdout without it.")
@click.option(
    "--roster", type=click.Path(path_type=Path), help="A CSV of the class; default: the one grading was given."
)
@exercise_option
@lesson_option
@click.option("--column", metavar="TITLE", help="Canvas: the assignment's title; default: the course's.")
@click.option("--out-of", type=float, metavar="POINTS", help="Canvas, Moodle: scale so that full marks are this.")
@click.option("--with-bonus", is_flag=True, help="Add the points of optional exercises to the totals.")
@click.option("--excel", is_flag=True, help="Begin the CSV with a byte order mark, for Excel's sake.")
@click.option("--replace", is_flag=True, help="Overwrite the file --out also if no export wrote it.")
@click.option("--python", metavar="PATH", help="nbgrader: a Python that has it; default: the one that runs this.")
@click.option("--student", metavar="ID", help="Gradescope: this student only, to stdout or the file --out.")
@shared_options
def export(
    results: Path,
    target: str,
    out: Path | None,
    roster: Path | None,
    exercises: tuple[str, ...],
    lessons: tuple[int, ...],
    column: str | None,
    out_of: float | None,
    with_bonus: bool,
    excel: bool,
    replace: bool,
    python: str | None,
    student: str | None,
) -> int:
    """Hand the grades in OUT on: a CSV for Canvas or Moodle, a table, nbgrader's gradebook, Gradescope's results.json.

    The exit code is 1 if somebody had to be left out; stderr says who and why.

    \b
    Examples:
      course export graded --to canvas --roster gradebook.csv --out import.csv
      course export graded --to moodle --roster worksheet.csv --out filled.csv
      course export graded --to canvas --lesson 3 --out lesson3.csv
      course export graded --to csv
      course export graded --to nbgrader --out gradebook.db
      course export graded --to gradescope --out results
    """
    given = {
        "--column": column is not None,
        "--out-of": out_of is not None,
        "--with-bonus": with_bonus,
        "--excel": excel,
        "--replace": replace,
        "--python": python is not None,
        "--student": student is not None,
        "--exercise": bool(exercises),
    }
    for option, targets in _MEANT_FOR.items():
        if given[option] and target not in targets:
            raise UsageError(f"{option} means something only with --to {' or '.join(targets)}. Leave it out.")
    if out_of is not None and not (math.isfinite(out_of) and out_of > 0):
        raise UsageError("--out-of takes a number of points above 0, such as 100.")
    if out is None and (target == "nbgrader" or (target == "gradescope" and student is None)):
        what = (
            "the gradebook goes with --out gradebook.db" if target == "nbgrader" else "the files go with --out FOLDER"
        )
        raise UsageError(f"Say where {what}.")

    course = current_course()
    store = Store(results)
    if out is not None:
        refuse_own_input(store, out, roster)
        if target in _CSV and not replace:
            refuse_foreign(store, out)
    grades = class_grades(course, results, roster)
    if exercises or lessons:
        chosen = tuple(exercise.id for exercise in course.select(exercises, lessons))
        grades = grades.only(chosen)
        column = column or f"{course.title}: {a_few(chosen) if exercises else _lessons(lessons)}"
    options = Options(column, out_of, with_bonus)
    _say(grades.notes)
    if target == "nbgrader":
        assert out is not None
        left_out, notes = write_gradebook(course, grades, options, out, python)
    elif target == "gradescope":
        left_out, notes = _gradescope(grades, options, out, student, replace), ()
    elif target == "csv":
        _write_csv(store, csv_bytes(class_csv(grades.students), excel), out)
        left_out, notes = ready(grades.students).left_out, ()
    elif not (able := ready(grades.students, with_bonus)).students:
        left_out, notes = able.left_out, ("Nobody has all grades that this needs, so nothing was written.",)
    else:
        kept = results / "roster.csv"
        file = roster or (kept if kept.exists() else None)
        sheet = to_canvas(course, grades, options, file) if target == "canvas" else to_moodle(grades, options)
        _write_csv(store, csv_bytes(csv_text(sheet.rows), excel), out)
        left_out, notes = sheet.left_out, sheet.notes
    _say(notes)
    refresh_grades(course, store)
    _say(f"Left out: {sentence}" for sentence in left_out)
    damaged = set(store.students()) - {one.student for one in grades.students}
    return EXIT_NOT_ALL if left_out or (student is None and (damaged or grades.waiting)) else EXIT_OK


def _lessons(numbers: Collection[int]) -> str:
    """``lesson 3``, ``lessons 3, 4``."""
    shown = ", ".join(map(str, sorted(set(numbers))))
    return f"lesson {shown}" if len(set(numbers)) == 1 else f"lessons {shown}"


def _gradescope(
    grades: ClassGrades, options: Options, out: Path | None, student: str | None, replace: bool
) -> tuple[str, ...]:
    """One document, or a folder a student with ``results.json`` in it; returns who was left out."""
    chosen = grades.students if student is None else [one for one in grades.students if one.student == student]
    fine = ready(chosen, options.with_bonus)
    if student is not None and student in grades.waiting:
        raise UsageError(f"The hand-in of {student} is not graded yet. Run `course grade` again.")
    if student is not None and not fine.students and not fine.left_out:
        raise UsageError(f"There is no result of {student!r}. A student's id is the name of a file in OUT/results.")
    for one in fine.students:
        text = json.dumps(results_document(one, options), indent=1, ensure_ascii=False) + "\n"
        place = out
        if student is None:
            assert out is not None
            place = out / one.student / "results.json"
            _make_folder(place.parent)
        if place is not None and not replace:
            _refuse_other_documents(place)
        _write(text.encode("utf-8", "replace"), place)
    return fine.left_out


def _refuse_other_documents(path: Path) -> None:
    """Raise UsageError if a file is there that holds no results for Gradescope."""
    if not path.is_file():
        return
    try:
        text = path.read_bytes()
    except OSError:
        return
    try:
        known = not text or "tests" in json.loads(text)
    except (ValueError, TypeError, RecursionError):
        known = False
    if not known:
        raise UsageError(f"{path} is there already and is no results.json. Name another --out, or add --replace.")


def _make_folder(folder: Path) -> None:
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise UsageError(f"{folder} cannot be made ({(error.strerror or str(error)).lower()}).") from None


def _write_csv(store: Store, data: bytes, out: Path | None) -> None:
    _write(data, out)
    if out is not None:
        note_export(store, out, data)


def _write(data: bytes, out: Path | None) -> None:
    """Bytes as they are: stdout then holds the document alone.  On a terminal nothing in it moves the cursor."""
    if out is not None:
        write_whole(out, data)
    elif sys.stdout.isatty():
        click.echo(printable(data.decode("utf-8-sig")), nl=False)
    else:
        click.echo(data, nl=False)


def _say(sentences: Iterable[str]) -> None:
    for sentence in sentences:
        say(printable(sentence).replace("\n", " "), err=True)
