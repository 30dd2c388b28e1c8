"""Notebooks from Python files in the percent format: the file is written by people, the notebook is generated.

``# %% [markdown]`` starts a cell of text, ``# %%`` one of code.  In code, a comment that begins with ``# !`` or ``# %``
is a line of IPython: a shell command or a magic, which plain Python could not read.
"""

from __future__ import annotations

import re
import sys
from pathlib import Path
from typing import Any

from autograder.errors import CourseError, UsageError
from autograder.release.files import write_whole

_MARK = re.compile(r"# %%( \[markdown\])?\s*")
_IPYTHON = re.compile(r"# ([!%].*)")
_MARKDOWN = re.compile(r"# ?(.*)")
_HINT = "Notebooks are written with nbformat: pip install 'mini-flash-attention-kit[dev]'."


def notebook_text(source: str, name: str) -> str:
    """The ``.ipynb`` of a percent file; the same text for the same source.

    Raises:
        CourseError: a line stands before the first cell, or one of a text cell is no comment.
        UsageError: nbformat is not installed.
    """
    try:
        import nbformat
        from nbformat import v4
    except ImportError:
        raise UsageError(_HINT) from None
    cells: list[Any] = []
    for number, (markdown, rows) in enumerate(_cells(source, name)):
        make = v4.new_markdown_cell if markdown else v4.new_code_cell
        cells.append(make("\n".join(rows).strip("\n"), id=f"cell-{number}"))
    kernel = {"name": "python3", "display_name": "Python 3", "language": "python"}
    notebook = v4.new_notebook(cells=cells, metadata={"kernelspec": kernel, "language_info": {"name": "python"}})
    nbformat.validate(notebook)
    text: str = nbformat.writes(notebook)
    return f"{text}\n"


def write_notebooks(folder: Path) -> list[Path]:
    """Write the notebook beside each percent file of ``folder``.

    Raises:
        CourseError, UsageError: as `notebook_text`.
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
    for written in write_notebooks(Path(sys.argv[1])):
        print(f"wrote {written}")
