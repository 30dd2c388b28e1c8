"""The pictures of a result document, read back: cells with a shade, and what each shade means in words.

Documents come from files; one that holds no picture, or half of one, shows none.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

# Shades from right to wrong; a character each, so that the meaning does not rest on colour.
RAMP = ".-+x#"
UNWRITTEN = "?"
PARTLY = "~"

_MOST_CELLS = 64
Grid = tuple[tuple[float, ...], ...]


@dataclass(frozen=True, slots=True)
class Side:
    """One side of a picture: what an index and a tile are called, the indices of each cell, where tiles begin."""

    of: str
    tile: str
    spans: tuple[tuple[int, int], ...]
    borders: frozenset[int]

    def head(self, number: int) -> str:
        """What stands beside a cell: its indices, and its tile's number where a tile begins."""
        if not self.of:
            return ""
        first, last = self.spans[number]
        span = f"{first}-{last}" if first != last else f"{first}"
        named = f"{self.of}{'s' if first != last else ''} {span}"
        if not self.borders or not self.tile or (number and number not in self.borders):
            return named
        return f"{self.tile} {sum(border <= number for border in self.borders)}: {named}"

    @property
    def extent(self) -> str:
        """``columns 0 to 31, 4 a character`` without the last part: what all cells are of."""
        return f"{self.of}s {self.spans[0][0]} to {self.spans[-1][1]}"


@dataclass(frozen=True, slots=True)
class Picture:
    """``shades`` holds a character of `RAMP`, `UNWRITTEN` or `PARTLY` for each cell, ``legend`` the words of these.

    ``output`` is what is shown, ``of`` the tile of it, where it has several.  ``unit`` ends the legend.
    """

    output: str
    of: str
    rows: Side
    columns: Side
    shades: tuple[str, ...]
    legend: tuple[tuple[str, str], ...]
    unit: str = ""

    @property
    def title(self) -> str:
        """``o: rows down, columns across``."""
        what = f"{self.output}, {self.of}" if self.of else self.output
        what += ", by size of the error" if self.unit else ""
        down = f"{self.rows.of}s down, " if self.rows.of else ""
        return f"{what}: {down}{self.columns.of}s across"


def read_picture(where: Mapping[str, Any] | None) -> Picture | None:
    """The picture of a check's place, or None."""
    if not isinstance(where, Mapping) or not isinstance(where.get("picture"), Mapping):
        return None
    made = where["picture"]
    try:
        rows, columns = _side(made["rows"]), _side(made["columns"])
        unit = "times what is rounding" if made["kind"] == "size" else ""
        if unit:
            shades, legend = _by_size(_grid(made["bars"], rows, columns))
        else:
            unwritten = _grid(made["unwritten"], rows, columns) if "unwritten" in made else None
            shades, legend = _by_share(_grid(made["wrong"], rows, columns), unwritten)
        return Picture(str(made["label"]), str(made["of"]), rows, columns, shades, legend, unit)
    except (KeyError, TypeError, ValueError, AttributeError):
        return None


def _side(side: Mapping[str, Any]) -> Side:
    spans = tuple((int(first), int(last)) for first, last in side["spans"])
    if not 0 < len(spans) <= _MOST_CELLS:
        raise ValueError("no cells, or too many")
    return Side(str(side["of"]), str(side["tile"]), spans, frozenset(int(cell) for cell in side["borders"]))


def _grid(cells: Sequence[Sequence[Any]], rows: Side, columns: Side) -> Grid:
    grid = tuple(tuple(float(cell) for cell in row) for row in cells)
    if len(grid) != len(rows.spans) or any(len(row) != len(columns.spans) for row in grid):
        raise ValueError("other cells than spans")
    if not all(math.isfinite(cell) and cell >= 0 for row in grid for cell in row):
        raise ValueError("a cell that is no share and no size")
    return grid


def _by_share(wrong: Grid, unwritten: Grid | None) -> tuple[tuple[str, ...], tuple[tuple[str, str], ...]]:
    left = unwritten or tuple((0.0,) * len(row) for row in wrong)
    shades = tuple(
        "".join(_left_shade(gone) or _share_shade(share) for share, gone in zip(row, gone_row))
        for row, gone_row in zip(wrong, left, strict=True)
    )
    meanings = {".": "right", "-": "less than half wrong", "+": "about half", "x": "most wrong", "#": "all wrong"}
    meanings |= {PARTLY: "written in part", UNWRITTEN: "never written"}
    return shades, _occurring(shades, meanings)


def _left_shade(gone: float) -> str:
    """The character of a cell of which a share was never written; "" if all of it was."""
    return UNWRITTEN if gone >= 0.999 else PARTLY if gone > 0 else ""


def _share_shade(share: float) -> str:
    if share <= 0:
        return "."
    if share >= 0.999:
        return "#"
    return "-" if share < 0.4 else "+" if share <= 0.6 else "x"


def _by_size(bars: Grid) -> tuple[tuple[str, ...], tuple[tuple[str, str], ...]]:
    """The first shade is for what is within the bar, the others for the logarithm of the size, in equal steps."""
    logs = [[math.log10(max(cell, 1.0)) for cell in row] for row in bars]
    over = [cell for row in logs for cell in row if cell > 0] or [0.0]
    low, steps = min(over), len(RAMP) - 1
    step = (max(over) - low) / steps or 1.0
    shades = tuple(
        "".join(RAMP[1 + min(steps - 1, int((cell - low) / step))] if cell > 0 else RAMP[0] for cell in row)
        for row in logs
    )
    meanings = {RAMP[0]: "right"}
    meanings |= {char: f"up to {_rounded(10 ** (low + step * number))}" for number, char in enumerate(RAMP) if number}
    return shades, _occurring(shades, meanings)


def _rounded(number: float) -> str:
    """One digit and noughts, never below the number."""
    size = 10 ** math.floor(math.log10(number) + 1e-9)
    rounded = math.ceil(number / size - 1e-9) * size
    return f"{rounded:,.0f}" if rounded < 1e7 else f"{rounded:.0e}"


def _occurring(shades: Sequence[str], meanings: Mapping[str, str]) -> tuple[tuple[str, str], ...]:
    seen = set("".join(shades))
    return tuple((char, text) for char, text in meanings.items() if char in seen)
