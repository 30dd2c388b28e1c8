"""Write grades into nbgrader's gradebook: a program for a Python that has nbgrader, which need not be the kit's own.

A JSON document of the grades comes in on stdin; ``gradebook.db`` in the current folder is made or brought up to date
through nbgrader's API; one JSON object goes out on stdout.  nbgrader and the standard library only.
"""

from __future__ import annotations

import importlib.metadata
import json
import os
import sys
import sysconfig
from collections.abc import Mapping
from typing import Any

_DATABASE = "sqlite:///gradebook.db"
_OLDEST = (0, 9)  # older ones have another schema; pip falls back to 0.2.2 where newer ones clash


def main() -> None:
    """Answer with ``notes``, with ``error``, a sentence, or with ``missing``: this Python has no nbgrader."""
    out, sys.stdout = sys.stdout, sys.stderr  # whatever nbgrader prints is not the answer
    document = json.load(sys.stdin)
    try:
        version = importlib.metadata.version("nbgrader")
    except importlib.metadata.PackageNotFoundError:
        answer: dict[str, Any] = {"missing": True}
    else:
        numbers = tuple(int(part) for part in version.split(".")[:2] if part.isdigit())
        try:
            answer = {"old": version} if numbers < _OLDEST else {"notes": write(document)}
        except Exception as error:  # noqa: BLE001 - the caller turns it into a sentence
            answer = {"error": f"{type(error).__name__}: {error}".splitlines()[0]}
    out.write(json.dumps(answer))


def write(document: Mapping[str, Any]) -> list[str]:
    """Bring the gradebook up to date; the notes say which manual scores were replaced.

    Raises:
        ValueError: the gradebook has an assignment of this name with other cells.
    """
    from nbgrader.api import Gradebook

    # A new gradebook makes nbgrader call `alembic`, which lies among this Python's programs, on PATH or not.
    os.environ["PATH"] = os.pathsep.join((sysconfig.get_path("scripts"), os.environ.get("PATH", os.defpath)))
    assignment = document["assignment"]["name"]
    notes: list[str] = []
    with Gradebook(_DATABASE) as book:
        _register(book, document)
        for student in document["students"]:
            known = {name: student[name] for name in ("first_name", "last_name", "email", "lms_user_id")}
            book.update_or_create_student(student["id"], **{name: text for name, text in known.items() if text})
            time = {"timestamp": student["timestamp"]} if student["timestamp"] else {}
            submission = book.update_or_create_submission(assignment, student["id"], **time)
            _grade(book, submission, student, notes)
        book.db.commit()
    return notes


def _register(book: Any, document: Mapping[str, Any]) -> None:
    """Assignment, notebooks and cells: all of them before the first submission, which nbgrader copies them into."""
    assignment = document["assignment"]["name"]
    due = {"duedate": document["assignment"]["duedate"]} if document["assignment"]["duedate"] else {}
    found = book.update_or_create_assignment(assignment, **due)
    ours = {(notebook["name"], cell["id"]) for notebook in document["notebooks"] for cell in notebook["cells"]}
    ours |= {(notebook["name"], cell["answer"]) for notebook in document["notebooks"] for cell in notebook["cells"]}
    ours |= {(notebook, cell) for notebook, cell in document["course"]}  # those that are not in this export stay
    solutions = {(notebook.name, cell.name) for notebook in found.notebooks for cell in notebook.solution_cells}
    theirs = solutions | {
        (notebook.name, cell.name)
        for notebook in found.notebooks
        for cell in (*notebook.grade_cells, *notebook.task_cells)
    }
    if theirs - ours:
        raise ValueError("other cells: " + ", ".join(sorted(f"{notebook}/{cell}" for notebook, cell in theirs - ours)))
    for notebook in document["notebooks"]:
        book.update_or_create_notebook(notebook["name"], assignment)
        for cell in notebook["cells"]:
            book.update_or_create_grade_cell(
                cell["id"], notebook["name"], assignment, max_score=cell["max_score"], cell_type="code"
            )
            # nbgrader hangs comments on solution cells; `course release --nbgrader` makes some.
            if (notebook["name"], cell["answer"]) not in solutions:
                book.update_or_create_solution_cell(cell["id"], notebook["name"], assignment)


def _grade(book: Any, submission: Any, student: Mapping[str, Any], notes: list[str]) -> None:
    """Scores, penalty and comments of one student; cells that are newer than the submission are added to it."""
    from nbgrader.api import Comment, Grade, SubmittedNotebook

    present = {notebook.name: notebook for notebook in submission.notebooks}
    masters = {notebook.name: notebook for notebook in submission.assignment.notebooks}
    for entry in student["notebooks"]:
        master = masters[entry["name"]]
        notebook = present.get(entry["name"]) or SubmittedNotebook(notebook=master, assignment=submission)
        notebook.late_submission_penalty = entry["penalty"]
        grades = {grade.cell_id: grade for grade in notebook.grades}
        comments = {comment.cell_id: comment for comment in notebook.comments}
        grade_cells = {cell.name: cell.id for cell in master.grade_cells}
        solution_cells = {cell.name: cell.id for cell in master.solution_cells}
        for cell in entry["cells"]:
            key = grade_cells[cell["id"]]
            grade = grades.get(key) or Grade(cell_id=key, notebook=notebook)
            if grade.manual_score is not None and cell["manual"] is None:
                notes.append(
                    f"{student['id']}: the manual score {grade.manual_score:g} of {cell['id']} was removed from the "
                    "gradebook, since overrides.csv has none."
                )
            grade.auto_score, grade.manual_score, grade.needs_manual_grade = cell["auto"], cell["manual"], False
            key = solution_cells.get(cell["answer"]) or solution_cells[cell["id"]]
            comment = comments.get(key) or Comment(cell_id=key, notebook=notebook)
            comment.auto_comment = cell["comment"]
            book.db.add_all((notebook, grade, comment))  # those that are there already do not mind


if __name__ == "__main__":
    main()
