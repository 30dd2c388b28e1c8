"""Source notebooks for nbgrader, one a lesson, made from the solutions; and the folder of a course that holds them.

Each exercise has its handout (read-only), an `%%exercise` cell with the solution in a solution region (a solution
cell), and a grade cell with its points.  Nothing is graded by hand.  The grade cells run in the student's notebook,
beside whatever the student wrote there, so they hold public checks only and say so: official scores come from
`course grade`, which reads the same notebooks as text.

`course/` goes along, as the grading of public checks needs it: nbgrader copies the files of an assignment as they are.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from autograder.catalogue import Course, Lesson
from autograder.errors import CourseError, UsageError
from autograder.nbgrader_names import answer_name, assignment_name, notebook_name
from autograder.release._ipynb import Cell, ipynb
from autograder.release.bundle import grading_files
from autograder.release.files import copy_aside, write_whole
from autograder.release.leaks import refuse_leaks
from autograder.release.lesson_notebooks import functions_of
from autograder.release.markers import make_stub, stub_lines_first

CONFIG = "nbgrader_config.py"
_REPLACED = "replaced"
_CONFIG_TEXT = '''\
"""nbgrader's settings for this course; written by `course release --nbgrader` where there was no such file."""

c = get_config()  # noqa: F821 - nbgrader gives it

# What is handed out says what to write: nothing stands in the place of a solution.
c.ClearSolutions.code_stub = {"python": ""}
# Seconds for a cell: a kernel that never ends is stopped by the kit, some seconds a check.
c.ExecutePreprocessor.timeout = 900
'''

_HEAD = """\
# Lesson {number}: {title}

You write each answer in the cell that begins with `%%exercise`. Running it grades your kernel on the public checks and
shows the report below; `%hint ID` is a nudge. Where a text speaks of a file, such as `lesson1/vector_add.py`, the cell
below it stands for that file. The cell is not run as Python: the kernel that you write is checked, lifted out of its
text and run in a process of its own.

**The cells with points count public checks only.** Your official score comes from the course, which reads this notebook
as text and runs hidden checks, too."""

_GRADE = """\
# {points} by public checks only; the official score comes from the course.
from autograder.notebook import public_points

public_points("{id}")"""


@dataclass(frozen=True, slots=True)
class Assignment:
    """What was written: the assignment's name, its notebooks, and those whose earlier version was kept, by its place.

    ``config`` is None where nbgrader_config.py was there, and not ours.
    """

    name: str
    notebooks: tuple[Path, ...]
    kept: tuple[Path, ...]
    config: Path | None


def source_notebooks(course: Course) -> Mapping[str, str]:
    """Each lesson's source notebook by its file's name, such as ``lesson7.ipynb``.

    Raises:
        CourseError: a solution or a handout cannot be read, or a solution lacks a function.
        MarkerError: a solution's markers are wrong.
    """
    return {
        f"{notebook_name(lesson.number)}.ipynb": ipynb(_cells(course, lesson, stubs=False)) for lesson in course.lessons
    }


def write_assignment(course: Course, folder: Path) -> Assignment:
    """Write the assignment into nbgrader's course ``folder``; notebooks there that differ are kept under ``replaced``.

    Raises:
        LeakError: what nbgrader makes of them for students would give something away.
        CourseError, MarkerError: as `source_notebooks`.
        UsageError: something cannot be written.
    """
    notebooks = source_notebooks(course)
    files = grading_files(course)
    refuse_leaks(course, {f"released/{name}": text.encode() for name, text in _as_released(course).items()})
    name = assignment_name(course.title)
    place = folder / "source" / name
    try:
        kept = _keep(place, notebooks, folder / _REPLACED / name)
        for path, data in files.items():
            (place / path).parent.mkdir(parents=True, exist_ok=True)
            write_whole(place / path, data)
        for path, text in notebooks.items():
            write_whole(place / path, text.encode())
    except OSError as error:
        raise UsageError(f"{error.filename} cannot be written ({(error.strerror or str(error)).lower()}).") from error
    return Assignment(name, tuple(place / path for path in notebooks), kept, _write_config(folder / CONFIG))


def _keep(place: Path, notebooks: Mapping[str, str], folder: Path) -> tuple[Path, ...]:
    """Move notebooks that somebody changed out of nbgrader's way, which would release a copy beside them."""
    kept = []
    for name, text in notebooks.items():
        old = place / name
        if old.is_file() and old.read_bytes() != text.encode():
            folder.mkdir(parents=True, exist_ok=True)
            moved = old.replace(folder / name)
            kept.append(copy_aside(moved))
            moved.unlink()
    return tuple(kept)


def _write_config(path: Path) -> Path | None:
    """The settings; None where there are others already."""
    if path.is_file() and path.read_text(encoding="utf-8", errors="replace") != _CONFIG_TEXT:
        return None
    write_whole(path, _CONFIG_TEXT.encode())
    return path


def _as_released(course: Course) -> Mapping[str, str]:
    """The notebooks as nbgrader releases them."""
    return {
        f"{notebook_name(lesson.number)}.ipynb": ipynb(_cells(course, lesson, stubs=True)) for lesson in course.lessons
    }


def _cells(course: Course, lesson: Lesson, stubs: bool) -> Iterator[Cell]:
    name = notebook_name(lesson.number)
    yield Cell(
        True, _HEAD.format(number=lesson.number, title=lesson.title), metadata=_cell(f"{name}-head", locked=True)
    )
    yield Cell(False, "%load_ext autograder", metadata=_cell(f"{name}-load", locked=True))
    seen: set[str] = set()
    for exercise in lesson.exercises:
        owned = [item for item in lesson.exercises if item.stub == exercise.stub]
        path = course.root / "solutions" / exercise.stub
        functions = functions_of(exercise, owned, _read(path), exercise.stub not in seen)
        code = make_stub(functions, str(path)) if stubs else stub_lines_first(functions, str(path))
        seen.add(exercise.stub)
        yield Cell(True, _read(exercise.handout).strip(), metadata=_cell(f"{exercise.id}-handout", locked=True))
        yield Cell(False, f"%%exercise {exercise.id}\n{code}", metadata=_cell(answer_name(exercise.id), solution=True))
        if not exercise.optional:
            told = "1 point" if exercise.points == 1 else f"{exercise.points:g} points"
            grade = _GRADE.format(points=told, id=exercise.id)
            yield Cell(False, grade, metadata=_cell(exercise.id, locked=True, grade=True, points=exercise.points))


def _cell(name: str, locked: bool = False, solution: bool = False, grade: bool = False, **more: Any) -> dict[str, Any]:
    """nbgrader's metadata of a cell, schema 3."""
    return {
        "nbgrader": {
            "grade": grade,
            "grade_id": name,
            "locked": locked,
            "schema_version": 3,
            "solution": solution,
            "task": False,
            **more,
        }
    }


def _read(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise CourseError(f"{path} cannot be read, and its lesson's notebook needs it.") from error


def needed_settings() -> str:
    """The lines that a course's own nbgrader_config.py needs."""
    return 'c.ClearSolutions.code_stub = {"python": ""} and c.ExecutePreprocessor.timeout = 900'
