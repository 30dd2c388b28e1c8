"""Text of an .ipynb -> one Python text: its code cells, outputs dropped; what is handed in as an answer comes last.

Plain json and not nbformat: format 4 needs a few checks, and students need nothing installed for it.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from dataclasses import dataclass
from enum import IntEnum
from typing import cast

from autograder.handin._limits import MAX_FILE_BYTES, MB, Refused
from autograder.handin._magics import is_answer, python_of_cell

_NO_NOTEBOOK = "is not a notebook that can be read (its JSON is damaged); save it again from Jupyter or Colab"
_LONE_SURROGATE = re.compile("[\ud800-\udfff]")
_MOST_CELLS = 5_000  # each costs time, also an empty one; the course's longest notebooks have some dozens
_LOOKED_AT = 200  # %%exercise cells; more are in no honest notebook


class _Rank(IntEnum):
    """What of two definitions counts: that of the later rank, and within a rank that of the later cell."""

    STUB = 0  # an %%exercise cell as it was handed out: the student may have answered elsewhere
    OTHER = 1
    ANSWER = 2


@dataclass(frozen=True, slots=True)
class NotebookText:
    """The code cells as one text, the line at which each of them begins, and the numbers of the answers' cells."""

    text: str
    cells: tuple[int, ...]
    answers: frozenset[int]


def read_notebook(document: str, begun: Callable[[str], bool]) -> NotebookText:
    """One text of which Python's rule holds, that the last definition counts.

    `%%exercise` cells come last: they are what the student saw graded, while other cells may try things out.  Those of
    which ``begun`` says that they are still the stub come first.  Raises Refused for anything but a notebook of
    format 4.
    """
    sources = _code_cells(_parse(document))
    raw = "\n".join(sources)
    if len(raw.encode()) > MAX_FILE_BYTES:  # before anything slower looks at it
        raise Refused(f"was not read: its code is over {MAX_FILE_BYTES // MB} MB", text=raw)
    if len(sources) > _MOST_CELLS:
        raise Refused(f"was not read: it has more than {_MOST_CELLS} cells with code", text=raw)
    cells = [python_of_cell(source) for source in sources]
    ranks = [_Rank.OTHER] * len(cells)
    for looked_at, number in enumerate([number for number, source in enumerate(sources) if is_answer(source)]):
        ranks[number] = _Rank.ANSWER if looked_at >= _LOOKED_AT or begun(cells[number]) else _Rank.STUB
    texts: list[str] = []
    starts = [1] * len(cells)
    line = 1
    for number in sorted(range(len(cells)), key=lambda number: ranks[number]):
        texts.append(cells[number])
        starts[number] = line
        line += cells[number].count("\n")
    answers = frozenset(number for number, rank in enumerate(ranks, 1) if rank is _Rank.ANSWER)
    return NotebookText("".join(texts), tuple(starts), answers)


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
