"""A picture of where a check failed, laid out for a small SVG: rectangles and texts, and all of it in words as well."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from autograder.reports.pictures import PARTLY, RAMP, UNWRITTEN, Picture, read_picture

_CELL, _ROW, _GAP, _LETTER = 12, 14, 3, 7
_ENTRIES = 3
_NARROWEST = 460


@dataclass(frozen=True, slots=True)
class Cell:
    """Cells of one shade side by side; ``tone`` is a class of the style sheet, ``mark`` a letter in their middle."""

    x: int
    y: int
    width: int
    height: int
    tone: str
    mark: str = ""


@dataclass(frozen=True, slots=True)
class Label:
    x: int
    y: int
    text: str
    anchor: str = "start"


@dataclass(frozen=True, slots=True)
class Drawing:
    """``words`` says, row by row, what is drawn."""

    title: str
    words: str
    width: int
    height: int
    cells: tuple[Cell, ...]
    labels: tuple[Label, ...]


def drawing(where: Mapping[str, Any] | None) -> Drawing | None:
    """The drawing of a check's place, or None where it has no picture."""
    picture = read_picture(where)
    if picture is None:
        return None
    heads = [picture.rows.head(number) for number in range(len(picture.rows.spans))]
    left = _LETTER * max(map(len, heads)) + 8
    cells: list[Cell] = []
    labels: list[Label] = []
    y = 4
    for number, (head, row) in enumerate(zip(heads, picture.shades, strict=True)):
        y += _GAP if number in picture.rows.borders else 0
        labels.append(Label(left - 6, y + 11, head, "end"))
        cells += _row(picture, row, left, y)
        y += _ROW
    right = max(cell.x + cell.width for cell in cells)
    labels.append(Label(left, y + 12, picture.columns.extent))
    y += 22
    for number, (shade, text) in enumerate(picture.legend):
        x = number % _ENTRIES * (_NARROWEST // _ENTRIES)
        line = y + number // _ENTRIES * (_ROW + 4)
        cells.append(Cell(x + 1, line, _CELL, _ROW - 2, _tone(shade), _mark(shade)))
        unit = f" {picture.unit}" if picture.unit and number == len(picture.legend) - 1 else ""
        labels.append(Label(x + _CELL + 6, line + 10, f"{text}{unit}"))
    y += (1 + (len(picture.legend) - 1) // _ENTRIES) * (_ROW + 4)
    return Drawing(picture.title, _words(picture, heads), max(right + 4, _NARROWEST), y, tuple(cells), tuple(labels))


def _row(picture: Picture, row: str, left: int, y: int) -> Iterator[Cell]:
    start = 0
    for cell in range(1, len(row) + 1):
        if cell == len(row) or cell in picture.columns.borders or row[cell] != row[start]:
            gaps = sum(border <= start for border in picture.columns.borders)
            shade = row[start]
            x = left + start * _CELL + gaps * _GAP
            yield Cell(x, y, (cell - start) * _CELL, _ROW - 2, _tone(shade), _mark(shade))
            start = cell


def _tone(shade: str) -> str:
    return "gone" if shade in (UNWRITTEN, PARTLY) else f"s{RAMP.index(shade)}"


def _mark(shade: str) -> str:
    """What stands in a cell of which something was never written."""
    return shade if shade in (UNWRITTEN, PARTLY) else ""


def _words(picture: Picture, heads: list[str]) -> str:
    """``rows 0-31: right; rows 32-63: columns 0-15 right, columns 16-31 all wrong.``"""
    meanings = dict(picture.legend)
    lines = []
    for head, row in zip(heads, picture.shades, strict=True):
        parts, start = [], 0
        for cell in range(1, len(row) + 1):
            if cell == len(row) or row[cell] != row[start]:
                first, last = picture.columns.spans[start][0], picture.columns.spans[cell - 1][1]
                span = f"{picture.columns.of}s {first}-{last} " if first != last else f"{picture.columns.of} {first} "
                parts.append(f"{span if len(set(row)) > 1 else ''}{meanings[row[start]]}")
                start = cell
        lines.append(f"{head}: {', '.join(parts)}" if head else ", ".join(parts))
    unit = f", in sizes of the error that are {picture.unit}" if picture.unit else ""
    return f"{'; '.join(lines)}{unit}."
