"""Notebooks from Python files in the percent format: the file is written by people, the notebook is generated.

``# %% [markdown]`` starts a cell of text, ``# %%`` one of code.  In code, a comment that begins with ``# !`` or ``# %``
is a line of IPython: a shell command or a magic, which plain Python could not read.  The lessons' notebooks are made
from the course, see ``lesson_notebooks.py``.
"""

from __future__ import annotations

import re
import sys
from pathlib import Path

from autograder.catalogue import find_root, load_course
from autograder.errors import CourseError
from autograder.release._ipynb import Cell, ipynb
from autograder.release.bundle import slug
from autograder.release.files import write_whole
from autograder.release.lesson_notebooks import write_lesson_notebooks
from autograder.release.stubs import generate_stubs

_MARK = re.compile(r"# %%( \[markdown\])?\s*")
_IPYTHON = re.compile(r"# ([!%].*)")
_MARKDOWN = re.compile(r"# ?(.*)")


def notebook_text(source: str, name: str) -> str:
    """The ``.ipynb`` of a percent file; the same text for the same source.

    Raises:
        CourseError: a line stands before the first cell, or one of a text cell is no comment.
    """
    return ipynb(Cell(markdown, "\n".join(rows).strip("\n")) for markdown, rows in _cells(source, name))


def write_notebooks(folder: Path) -> list[Path]:
    """Write the notebook beside each percent file of ``folder``.

    Raises:
        CourseError: as `notebook_text`.
    """
    written = []
    for path in sorted(folder.glob("*.py")):
        target = path.with_suffix(".ipynb")
        write_whole(target, notebook_text(path.read_text(encoding="utf-8"), path.name).encode())
        written.append(target)
    return written


def _cells(source: str, name: str) -> list[tuple[bool, list[str]]]:
    cells: list[tuple[bool, list[str]]] = []
    for number, row in enumerate(source.split("\n"), start=1):
        if mark := _MARK.fullmatch(row):
            cells.append((mark[1] is not None, []))
        elif not cells:
            if row.strip():
                raise CourseError(f"{name}, line {number}: a notebook begins with `# %%`.")
        elif cells[-1][0]:
            text = _MARKDOWN.fullmatch(row)
            if text is None and row.strip():
                raise CourseError(f"{name}, line {number}: a line of a text cell begins with `#`.")
            cells[-1][1].append(text[1] if text else "")
        else:
            shell = _IPYTHON.fullmatch(row)
            cells[-1][1].append(shell[1] if shell else row)
    return cells


if __name__ == "__main__":
    folder = Path(sys.argv[1])
    course = load_course(find_root(folder))
    lessons = write_lesson_notebooks(course, generate_stubs(course), slug(course.title))
    for written in (*write_notebooks(folder), *lessons):
        print(f"wrote {written}")
