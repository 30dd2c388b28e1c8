"""Pictures in a terminal: a character a cell, tiles set apart, a legend; colour only repeats what characters say."""

from __future__ import annotations

from collections.abc import Iterator

from rich.text import Text

from autograder.reports.pictures import PARTLY, UNWRITTEN, Picture, Side

_STYLES = {
    ".": "green",
    "-": "yellow",
    "+": "yellow",
    "x": "red",
    "#": "bold red",
    UNWRITTEN: "magenta",
    PARTLY: "magenta",
}
# Beyond these, borders between tiles would be most of the picture.
_MOST_BORDERS = 8
_WIDTH = 74


def drawn(picture: Picture, plain: bool = False) -> Iterator[Text]:
    """The lines of a picture, at most 74 columns; ``plain`` leaves out rules, which read badly aloud."""
    yield Text(picture.title)
    heads = [picture.rows.head(number) for number in range(len(picture.rows.spans))]
    width = max(map(len, heads))
    rule = _rule(picture.columns, width)
    for number, (head, row) in enumerate(zip(heads, picture.shades, strict=True)):
        if number in picture.rows.borders and not plain:
            yield Text(rule, style="dim")
        line = Text(f"{head:>{width}} ")
        line.append("" if plain else "|", "dim")
        for is_new_tile, shades in _runs(row, _borders(picture.columns)):
            if is_new_tile:
                line.append(" " if plain else "|", "dim")
            line.append(shades, _STYLES[shades[0]])
        line.append("" if plain else "|", "dim")
        yield line
    foot = picture.columns.extent
    cells = len(picture.columns.spans)
    if cells > 1:
        foot += f", {_each(picture.columns)}"
    yield Text(" " * (width + (1 if plain else 2)) + foot, style="dim")
    yield from _legend(picture)


def _legend(picture: Picture) -> Iterator[Text]:
    """What each character means, in as many lines as it takes."""
    entries = [Text.assemble((shade, _STYLES[shade]), f" {words}") for shade, words in picture.legend]
    entries[-1].append(f" {picture.unit}" if picture.unit else "")
    line = entries[0]
    for entry in entries[1:]:
        if len(line) + len(entry) + 3 > _WIDTH:
            yield line
            line = entry
        else:
            line = Text.assemble(line, "   ", entry)
    yield line


def _runs(row: str, borders: frozenset[int]) -> Iterator[tuple[bool, str]]:
    """Cells of one shade and tile that stand side by side, and whether a border is before them."""
    start = 0
    for cell in range(1, len(row) + 1):
        if cell == len(row) or cell in borders or row[cell] != row[start]:
            yield start in borders, row[start:cell]
            start = cell


def _borders(side: Side) -> frozenset[int]:
    return side.borders if len(side.borders) <= _MOST_BORDERS else frozenset()


def _rule(columns: Side, indent: int) -> str:
    cells = "".join(("+" if cell in _borders(columns) else "") + "-" for cell in range(len(columns.spans)))
    return f"{'':{indent}} +{cells}+"


def _each(side: Side) -> str:
    """How many indices a character stands for."""
    sizes = {last - first + 1 for first, last in side.spans[:-1]}
    size = max(sizes)
    return "one a character" if size == 1 else f"{size} a character"
