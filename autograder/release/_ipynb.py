"""Cells -> the text of an .ipynb, format 4.5: the bytes that nbformat writes, without needing nbformat."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from typing import Any

_METADATA = {
    "kernelspec": {"display_name": "Python 3", "language": "python", "name": "python3"},
    "language_info": {"name": "python"},
}


def ipynb(cells: Iterable[tuple[bool, str]]) -> str:
    """A notebook of cells, each whether it is Markdown, and its text; the same text for the same cells."""
    return ipynb_with_metadata((markdown, text, {}) for markdown, text in cells)


def ipynb_with_metadata(cells: Iterable[tuple[bool, str, Mapping[str, Any]]]) -> str:
    """As `ipynb`, with each cell's metadata."""
    made = [_cell(number, markdown, text, metadata) for number, (markdown, text, metadata) in enumerate(cells)]
    document = {"cells": made, "metadata": _METADATA, "nbformat": 4, "nbformat_minor": 5}
    return json.dumps(document, indent=1, ensure_ascii=False, sort_keys=True) + "\n"


def _cell(number: int, markdown: bool, text: str, metadata: Mapping[str, Any]) -> dict[str, object]:
    cell = {"id": f"cell-{number}", "metadata": dict(metadata), "source": text.splitlines(keepends=True)}
    if markdown:
        return {**cell, "cell_type": "markdown"}
    return {**cell, "cell_type": "code", "execution_count": None, "outputs": []}
