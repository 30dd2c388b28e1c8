"""Text of an .ipynb -> one Python text: its code cells in order, outputs dropped.

Plain json and not nbformat: format 4 needs a few checks, and students need nothing installed for it.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from typing import cast

from autograder.handin._limits import MAX_FILE_BYTES, MB, Refused
from autograder.handin._magics import python_of_cell

_NO_NOTEBOOK = "is not a notebook that can be read (its JSON is damaged); save it again from Jupyter or Colab"
_LONE_SURROGATE = re.compile("[\ud800-\udfff]")


@dataclass(frozen=True, slots=True)
class NotebookText:
    """The code cells as one text, and the line at which each of them begins."""

    text: str
    cells: tuple[int, ...]


def read_notebook(document: str) -> NotebookText:
    """Raises Refused for anything but a notebook of format 4."""
    sources = _code_cells(_parse(document))
    raw = "\n".join(sources)
    if len(raw.encode()) > MAX_FILE_BYTES:  # before anything slower looks at it
        raise Refused(f"was not read: its code is over {MAX_FILE_BYTES // MB} MB", text=raw)
    texts: list[str] = []
    starts: list[int] = []
    line = 1
    for source in sources:
        text = python_of_cell(source)
        texts.append(text)
        starts.append(line)
        line += text.count("\n")
    return NotebookText("".join(texts), tuple(starts))


def _parse(document: str) -> list[object]:
    """The list of cells."""
    try:
        notebook = json.loads(document)
    except (ValueError, RecursionError):
        raise Refused(_NO_NOTEBOOK) from None
    if not isinstance(notebook, dict):
        raise Refused(_NO_NOTEBOOK)
    version = notebook.get("nbformat")
    if version != 4:
        told = f"format {version}" if version in (1, 2, 3) else "an unknown format"
        raise Refused(f"is a notebook of {told}, and only format 4 is read; save it again from Jupyter or Colab")
    cells = notebook.get("cells")
    if not isinstance(cells, list):
        raise Refused(_NO_NOTEBOOK)
    return cast(list[object], cells)


def _code_cells(cells: list[object]) -> list[str]:
    """Sources of the code cells; a damaged one is empty, so that the others keep their numbers."""
    return [_source(cell) for cell in cells if isinstance(cell, dict) and cell.get("cell_type") == "code"]


def _source(cell: dict[str, object]) -> str:
    source = cell.get("source")
    if isinstance(source, list):
        source = "".join(part for part in source if isinstance(part, str))
    if not isinstance(source, str):
        return ""
    # JSON can spell half a surrogate pair, which no parser takes.
    return _LONE_SURROGATE.sub("\ufffd", source)
