"""nbgrader's gradebook: the grades as one document, and the Python with nbgrader that writes them.

nbgrader may live in an environment of its own, since its packages clash with those of some machines; so the writer is
always a program of its own, and the gradebook is replaced only when it has finished.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from datetime import datetime
from pathlib import Path
from typing import Any

from autograder.bridges import _nbgrader_writer
from autograder.bridges._marks import Options, ready
from autograder.bridges._words import comment
from autograder.bulk.grades import ClassGrades, ExerciseGrade, StudentGrade, exercise_columns
from autograder.catalogue import Course
from autograder.errors import AutograderError, UsageError
from autograder.nbgrader_names import answer_name, assignment_name, notebook_name
from autograder.protocol import printable

_NAME = "gradebook.db"
_HOW = (
    "Install it with pip install 'mini-flash-attention-kit[instructor]'. Where it clashes with what is installed, "
    "as on Colab, install nbgrader in an environment of its own and name that environment's Python with --python."
)


def write_gradebook(
    course: Course, grades: ClassGrades, options: Options, path: Path, python: str | None = None
) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Make the gradebook at ``path`` or bring it up to date; returns who was left out, and notes.

    ``python`` is the interpreter that has nbgrader, by default this one.  Other assignments in the gradebook, manual
    comments, extra credit, and students who are not among the results stay as they are.

    Raises:
        UsageError: there is no nbgrader, or the gradebook cannot be read or written.
    """
    fine = ready(grades.students, options.with_bonus)
    document = gradebook_document(course, fine.students, options)
    interpreter = shutil.which(python or sys.executable)
    if interpreter is None:
        raise UsageError(f"There is no Python at {python}. Name one that has nbgrader with --python.")
    try:
        with tempfile.TemporaryDirectory(dir=path.resolve().parent, prefix=".export-") as folder:
            working = Path(folder) / _NAME
            if path.exists():
                shutil.copy2(path, working)
            answer = _run(interpreter, Path(folder), document)
            _check(answer, interpreter, path, document["assignment"]["name"])
            working.replace(path.resolve())
    except OSError as error:
        raise UsageError(f"{path} cannot be written ({(error.strerror or str(error)).lower()}).") from None
    return fine.left_out, (*answer["notes"], *_folder_note(path, document["assignment"]["name"]))


def gradebook_document(course: Course, students: Sequence[StudentGrade], options: Options) -> dict[str, Any]:
    """What the writer gets: one notebook a lesson, one cell an exercise; ``course`` names all cells of the course."""
    lessons: dict[int, list[dict[str, Any]]] = {}
    points = {item.result.id: item.result.points for one in students for item in one.exercises if item.result.counts}
    for exercise in exercise_columns(students):
        cell = {"id": exercise.id, "max_score": points.get(exercise.id, 0.0), "answer": answer_name(exercise.id)}
        lessons.setdefault(exercise.lesson, []).append(cell)
    deadlines = [lesson.deadline for lesson in course.lessons if lesson.deadline is not None]
    return {
        "assignment": {"name": assignment_name(course.title), "duedate": _time(max(deadlines, default=None))},
        "notebooks": [{"name": notebook_name(number), "cells": cells} for number, cells in sorted(lessons.items())],
        "course": [
            (notebook_name(exercise.lesson), cell)
            for exercise in course.exercises
            for cell in (exercise.id, answer_name(exercise.id))
        ],
        "students": [_student(student, options) for student in students],
    }


def _student(student: StudentGrade, options: Options) -> dict[str, Any]:
    row, submission = student.roster, student.submission
    name = student.name if student.name != student.student else ""
    first, last = first_and_last(name)
    lessons: dict[int, list[ExerciseGrade]] = {}
    for item in student.exercises:
        lessons.setdefault(item.result.lesson, []).append(item)
    return {
        "id": student.student,
        "first_name": first,
        "last_name": last,
        "email": _plain(row.email) if row is not None else "",
        "lms_user_id": (row.lms_id if row is not None else "") or (submission.lms_id if submission else None) or "",
        "timestamp": _time((row.submitted if row else None) or (submission.submitted if submission else None)),
        "notebooks": [
            {
                "name": notebook_name(number),
                "penalty": _penalty(items, options),
                "cells": [_cell(item, student.student, options) for item in items],
            }
            for number, items in lessons.items()
        ],
    }


def first_and_last(name: str) -> tuple[str, str]:
    """A name in two parts, without commas: nbgrader's own CSV does not quote them."""
    family, comma, given = name.partition(",")
    if not comma:
        given, _, family = name.strip().rpartition(" ")
    return _plain(given), _plain(family)


def _plain(text: str) -> str:
    return " ".join(text.replace(",", " ").split())


def _cell(item: ExerciseGrade, student: str, options: Options) -> dict[str, Any]:
    """What was graded, and beside it the score set by hand; nothing where the exercise does not count."""
    counts = _counts(item, options)
    return {
        "id": item.result.id,
        "answer": answer_name(item.result.id),
        "auto": item.result.score if counts else None,
        "manual": item.override.score if counts and item.override is not None else None,
        "comment": comment(item, student),
    }


def _counts(item: ExerciseGrade, options: Options) -> bool:
    return item.result.counts or (item.result.optional and options.with_bonus)


def _penalty(items: Sequence[ExerciseGrade], options: Options) -> float:
    """What lateness cost; nothing is taken off what is not in the total."""
    late = [item for item in items if item.lateness is not None and _counts(item, options)]
    return round(sum(item.result.score - item.score for item in late), 6)


def _folder_note(path: Path, assignment: str) -> list[str]:
    """nbgrader's pages list the assignments that have a folder, whatever the gradebook holds."""
    if (path.resolve().parent / "source" / assignment).is_dir():
        return []
    return [f"For nbgrader's formgrader to list it, its course folder needs a folder source/{assignment}."]


def _time(time: datetime | None) -> str | None:
    return time.isoformat() if time is not None else None


def _run(interpreter: str, folder: Path, document: Mapping[str, Any]) -> dict[str, Any]:
    """The writer's answer."""
    environment = {**os.environ, "PYTHONIOENCODING": "utf-8"}
    if interpreter != sys.executable:  # what is set for this Python is wrong for another
        for name in ("PYTHONPATH", "PYTHONHOME"):
            environment.pop(name, None)
    done = subprocess.run(
        [str(Path(interpreter).absolute()), str(Path(_nbgrader_writer.__file__).absolute())],
        input=json.dumps(document),
        capture_output=True,
        encoding="utf-8",
        errors="replace",
        cwd=folder,
        env=environment,
        check=False,
    )
    try:
        answer: dict[str, Any] = json.loads(done.stdout)
    except ValueError:
        last = (done.stderr.strip().splitlines() or ["it said nothing"])[-1]
        raise AutograderError(f"{interpreter} could not write the gradebook: {printable(last)}") from None
    return answer


def _check(answer: Mapping[str, Any], interpreter: str, path: Path, assignment: str) -> None:
    if "missing" in answer:
        raise UsageError(f"{interpreter} has no nbgrader. {_HOW}")
    if "old" in answer:
        raise UsageError(f"{interpreter} has nbgrader {answer['old']}, and 0.9.6 or newer is needed. {_HOW}")
    error = printable(answer.get("error", ""))
    if "other cells: " in error:
        raise UsageError(
            f"{path} has an assignment {assignment} with cells that are not of this course: "
            f"{error.partition('other cells: ')[2]}. Name a new file with --out."
        )
    if error:
        raise UsageError(
            f"nbgrader could not write {path} ({error}). If it is a gradebook of an older nbgrader, "
            "run `nbgrader db upgrade` on a copy; else name a new file with --out."
        )
