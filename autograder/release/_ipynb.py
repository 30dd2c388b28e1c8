"""Cells -> the text of an .ipynb, format 4.5: the bytes that nbformat writes, without needing nbformat."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from types import MappingProxyType
from typing import Any, NamedTuple

_METADATA = {
    "kernelspec": {"display_name": "Python 3", "language": "python", "name": "python3"},
    "language_info": {"name": "python"},
}


class Cell(NamedTuple):
    """Whether it is Markdown, its text, what a cell of code has printed, and what tools know about it."""

    markdown: bool
    text: str
    printed: str = ""
    metadata: Mapping[str, Any] = MappingProxyType({})


def ipynb(cells: Iterable[Cell]) -> str:
    """A notebook of cells; the same text for the same cells."""
    made = [_cell(number, cell) for number, cell in enumerate(cells)]
    document = {"cells": made, "metadata": _METADATA, "nbformat": 4, "nbformat_minor": 5}
    return json.dumps(document, indent=1, ensure_ascii=False, sort_keys=True) + "\n"


def _cell(number: int, cell: Cell) -> dict[str, object]:
    source = cell.text.splitlines(keepends=True)
    made = {"id": f"cell-{number}", "metadata": dict(cell.metadata), "source": source}
    if cell.markdown:
        return {**made, "cell_type": "markdown"}
    outputs = []
    if cell.printed:
        outputs.append({"name": "stdout", "output_type": "stream", "text": cell.printed.splitlines(keepends=True)})
    return {**made, "cell_type": "code", "execution_count": None, "outputs": outputs}
