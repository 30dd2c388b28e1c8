"""The table behind a clue about attention: each query tile's weights by chunk of keys, got beside expected.

Documents come from files; one that holds no table, or half of one, shows none.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from rich.text import Text

from autograder.result import Clue

_MOST_CHUNKS, _MOST_TILES = 7, 16
# Differences in percent that are more than rounding: a table without one shows nothing.
_VISIBLE = 2


@dataclass(frozen=True, slots=True)
class MassTable:
    """``got`` and ``expected`` hold percent by query tile and chunk; ``rows`` and ``chunks`` their indices.

    ``of`` is what a chunk is called.
    """

    rows: tuple[str, ...]
    chunks: tuple[str, ...]
    got: tuple[tuple[int, ...], ...]
    expected: tuple[tuple[int, ...], ...]
    condition: str
    of: str = "chunk"

    @property
    def title(self) -> str:
        condition = f", {self.condition}" if self.condition else ""
        return f"values in percent{condition}: rows down, {self.of}s of keys across"


def read_mass(clue: Clue) -> MassTable | None:
    """The table of a clue, or None."""
    if clue.kind != "mass" or clue.table is None:
        return None
    try:
        rows, chunks = _spans(clue.table["rows"]), _spans(clue.table["columns"])
        got, expected = (_percents(clue.table[name], len(rows), len(chunks)) for name in ("got", "expected"))
        if not 0 < len(rows) <= _MOST_TILES or not 0 < len(chunks) <= _MOST_CHUNKS:
            return None
        if all(abs(x - y) < _VISIBLE for a, b in zip(got, expected, strict=True) for x, y in zip(a, b, strict=True)):
            return None
        return MassTable(rows, chunks, got, expected, str(clue.table["condition"]), str(clue.table.get("of", "chunk")))
    except (KeyError, TypeError, ValueError, OverflowError):
        return None


def table_lines(table: MassTable, plain: bool = False) -> Iterator[Text]:
    """The table's lines in a terminal; with ``plain`` each says what is got and what expected, to be read aloud."""
    yield Text(table.title)
    heads = [f"rows {row}" for row in table.rows]
    width = max(map(len, heads))
    width = max(width, len(f"got, {table.of}"))
    cell = max(len(str(x)) for part in (table.got, table.expected) for row in part for x in row) + 1
    cell = max(cell, 4)
    if not plain:
        numbers = "".join(f"{chunk:>{cell}}" for chunk in range(len(table.chunks)))
        yield Text(f"{f'got, {table.of}':>{width}}{numbers}   expected{numbers}", style="dim")
    for head, got, expected in zip(heads, table.got, table.expected, strict=True):
        line = Text(f"{head}: got" if plain else f"{head:>{width}}")
        for x, y in zip(got, expected, strict=True):
            line.append(f" {x}" if plain else f"{x:>{cell}}", "bold red" if abs(x - y) >= _VISIBLE else "green")
        line.append(", expected" if plain else " " * len("   expected"))
        for y in expected:
            line.append(f" {y}" if plain else f"{y:>{cell}}")
        yield line


def _spans(spans: Sequence[Sequence[Any]]) -> tuple[str, ...]:
    pairs = [(int(first), int(last)) for first, last in spans]
    return tuple(f"{first}-{last}" if first != last else f"{first}" for first, last in pairs)


def _percents(cells: Sequence[Sequence[Any]], rows: int, columns: int) -> tuple[tuple[int, ...], ...]:
    grid = tuple(tuple(round(100 * float(cell)) for cell in row) for row in cells)
    if len(grid) != rows or any(len(row) != columns for row in grid):
        raise ValueError("other cells than spans")
    if not all(math.isfinite(cell) for row in grid for cell in row):
        raise ValueError("no number")
    return grid
