"""Where an output is wrong: in words of its axes, and as a small picture of cells that follow the tiles.

The picture is plain numbers for the result document; how it is drawn is the reports' affair.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import torch

from autograder.axes import Axis, plural

MOST_ROWS, MOST_COLUMNS = 16, 32
# Columns of a picture that would be alike; fewer would hardly be seen.
_FEWEST_COLUMNS = 8
# Fewer than these of a box's elements are "some of" it.
_ALMOST_ALL = 0.9
# Where so much is wrong, in no order, what is right is so by chance and worth no word.
_BUT_CHANCE = 0.95
# Fewer elements than these, of the wrong or of the right ones, show no order, nor that there is none.
_FEWEST = 12
# So many standard deviations from what chance gives are an order; it is looked for over so many rows and columns.
_ORDER = 4.0
# Where rounding decides what is right by chance, large rows and columns are right less often: that is no order yet.
_ORDER_BY_CHANCE = 12.0
# Elements beyond which it takes too long to look for one.
_LARGEST = 1 << 22
_FAR = 4
# Sizes of error are worth a picture if some cells are this much further off than others.
_STRUCTURE = 100.0
# Cells within this factor of the largest, or of the smallest, are like it; and more than a few places are none.
_LIKE = 10.0
_FEW = 3
# Cells of such a picture are wide, so that the data's own noise averages out.
_WIDE = 4

Spans = list[tuple[int, int]]


@dataclass(frozen=True, slots=True)
class Layout:
    """The axes of one output of one case; ``blocks`` holds the size of each axis' tiles, 0 where it has none."""

    axes: tuple[Axis, ...]
    blocks: tuple[int, ...]

    @classmethod
    def of(cls, axes: Sequence[Axis], case: Mapping[str, Any]) -> Layout:
        return cls(tuple(axes), tuple(axis.block(case) for axis in axes))


def without_chance(wrong: torch.Tensor) -> torch.Tensor:
    """A boolean tensor in which the few elements are set that do not hold, by chance, where all around them does.

    An output that is wrong throughout is right here and there, to within rounding.  Elements that are right and have an
    order, as along a row, a column or a diagonal, or side by side, stay.
    """
    if wrong.ndim != 2 or wrong.all() or _by_diagonal(wrong) is not None:
        return wrong
    least = 0.5 if float(wrong.double().mean()) >= _BUT_CHANCE else _ALMOST_ALL
    rows = wrong.double().mean(1) >= least
    if not rows.any():
        return wrong
    columns = wrong[rows].double().mean(0) >= least
    box = rows[:, None] & columns[None, :]
    right = (box & ~wrong).double()
    around = torch.nn.functional.conv2d(right[None, None], torch.ones(1, 1, 3, 3).double(), padding=1)[0, 0] - right
    return wrong | (box & (around <= 1))


def has_no_order(wrong: torch.Tensor, order: float = _ORDER) -> bool:
    """Whether a boolean tensor holds here and there as thrown dice would have it: as often in each row and column.

    What lies near each other, up to a few rows and columns apart and along the diagonals, is as often alike there as
    chance makes it, to within ``order`` standard deviations.
    """
    if wrong.ndim < 2 or min(wrong.shape[-2:]) <= _FAR or wrong.numel() > _LARGEST:
        return False
    count = int(wrong.sum())
    if min(count, wrong.numel() - count) < _FEWEST:
        return False
    share = count / wrong.numel()
    spread = share * (1 - share)
    off = wrong.double() - share
    for d in range(wrong.ndim):
        others = wrong.numel() // wrong.shape[d]
        free = wrong.shape[d] - 1
        chi = float((off.movedim(d, 0).reshape(wrong.shape[d], -1).mean(1) ** 2).sum()) * others / spread
        if free and (chi - free) / (2 * free) ** 0.5 > order:
            return False
    height, width = wrong.shape[-2:]
    steps = [(0, n) for n in range(1, _FAR + 1)] + [(n, 0) for n in range(1, _FAR + 1)] + [(1, 1), (1, -1)]
    for down, across in steps:
        here = off[..., : height - down, max(0, -across) : width - max(0, across)]
        there = off[..., down:, max(0, across) : width + min(0, across)]
        if abs(float((here * there).sum())) / (spread * here.numel() ** 0.5) > order:
            return False
    return True


def words(wrong: torch.Tensor, layout: Layout) -> str:
    """Where a boolean tensor holds, such as ``query tile 2 (rows 64-69), every column``; "" for all of it."""
    if wrong.all():
        return ""
    place, whole = _box(wrong, layout)
    if whole:
        return place
    if (diagonal := _by_diagonal(wrong)) is not None:
        return diagonal
    if (edges := _edges(wrong, layout)) is not None:
        return edges
    share = float(wrong.double().mean())
    if share >= _ALMOST_ALL and has_no_order(wrong):
        return "almost everywhere"
    if has_no_order(wrong):
        return "scattered, in no order"
    inside = _holds_in(wrong)
    share_inside = float(wrong[inside].double().mean())
    if inside.all() or share >= _BUT_CHANCE:
        return "almost everywhere" if share_inside >= _ALMOST_ALL else "scattered over all of it"
    return f"{'almost all' if share_inside >= _ALMOST_ALL else 'some'} of {place}"


def _holds_in(wrong: torch.Tensor) -> torch.Tensor:
    """The smallest box around the elements that are set: along each axis, the indices at which there is any."""
    box = torch.ones_like(wrong)
    for d in range(wrong.ndim):
        side = wrong.movedim(d, 0).reshape(wrong.shape[d], -1).any(1)
        box &= side.reshape([-1 if i == d else 1 for i in range(wrong.ndim)])
    return box


def _box(wrong: torch.Tensor, layout: Layout) -> tuple[str, bool]:
    """The words of the box around the elements that are set, and whether all that is in it is set."""
    sides = [wrong.movedim(d, 0).reshape(wrong.shape[d], -1).any(1) for d in range(wrong.ndim)]
    named = [
        _along(side, axis, block)
        for side, axis, block in zip(sides, layout.axes, layout.blocks, strict=True)
        if len(side) > 1
    ]
    return ", ".join(named), torch.equal(wrong, _holds_in(wrong))


def _edges(wrong: torch.Tensor, layout: Layout) -> str | None:
    """Words for whole columns, or whole rows, and a box in the rest, as ghosts at two sides are; None for all else."""
    for d in reversed(range(wrong.ndim)):
        whole = wrong.movedim(d, 0).reshape(wrong.shape[d], -1).all(1)
        if whole.all() or not _is_an_end(whole):
            continue
        rest = wrong & ~whole.reshape([-1 if i == d else 1 for i in range(wrong.ndim)])
        left = rest.index_select(d, (~whole).nonzero().flatten())
        if not left.any() or not torch.equal(left, _holds_in(left)):
            continue
        named = [_end(layout.axes[d], whole)]
        for e in range(wrong.ndim):
            side = left.movedim(e, 0).reshape(left.shape[e], -1).any(1)
            if not side.all():
                if e == d:  # counted among all columns
                    side = rest.movedim(e, 0).reshape(rest.shape[e], -1).any(1)
                if len(_spans_of(side)) > 1:
                    return None
                named.append(_end(layout.axes[e], side))
        return f"{named[0]} and {', '.join(named[1:])}"
    return None


def _spans_of(side: torch.Tensor) -> Spans:
    return spans([int(i) for i in side.nonzero().flatten()])


def _is_an_end(side: torch.Tensor) -> bool:
    """Whether what is set along an axis is some of its first indices, or of its last."""
    found = _spans_of(side)
    return len(found) == 1 and (found[0][0] == 0 or found[0][1] == len(side) - 1)


def _end(axis: Axis, side: torch.Tensor) -> str:
    """``the last columns (20-31)`` where these are at an end of their axis, else ``columns 4-7``."""
    found = _spans_of(side)
    if not _is_an_end(side):
        return _named(axis.of, found)
    (first, last), *_ = found
    which = "last" if last == len(side) - 1 else "first"
    return f"the {which} {plural(axis.of) if last > first else axis.of} ({span_text(found)})"


def extremes(error: torch.Tensor, bar: float, layout: Layout) -> str:
    """Where errors are largest and where smallest, if that differs by much: ``by the most in rows 0-3 and by ...``.

    ``error`` has no NaN and no infinity; what is below the bar is rounding, and a part of which all is right is for
    others to name.
    """
    for d in range(error.ndim):
        candidates = _divisions(error.shape[d], layout.blocks[d], MOST_ROWS)
        sizes = [max(bar, _rms(error.narrow(d, a, b - a + 1))) for a, b in candidates[-1].spans]
        low, high = min(sizes), max(sizes)
        if low <= bar or high < _STRUCTURE * low:
            continue
        most = _those(candidates[-1].spans, [size * _LIKE >= high for size in sizes])
        least = _those(candidates[-1].spans, [size <= _LIKE * low for size in sizes])
        if max(len(most), len(least)) <= _FEW:
            of = layout.axes[d].of
            return f"by the most in {_named(of, most)} and by the least in {_named(of, least)}"
    return ""


def _those(cells: Spans, chosen: Sequence[bool]) -> Spans:
    """The chosen cells, adjacent ones as one."""
    return spans(
        [i for (first, last), taken in zip(cells, chosen, strict=True) if taken for i in range(first, last + 1)]
    )


def share_picture(
    wrong: torch.Tensor, left: torch.Tensor | None, layout: Layout, by_chance: bool = False
) -> dict[str, Any] | None:
    """The share of wrong elements of each cell, and of those ``left`` unwritten; None where a picture adds nothing.

    With ``by_chance`` a wrong output may be right here and there.  A picture adds nothing to one element, nor to an
    output of which all is wrong in the same way, nor where what is wrong has no order.
    """
    bad = wrong if left is None else wrong | left
    if wrong.numel() < 2 or int(bad.sum()) < 2:
        return None
    if left is None and by_chance:
        bad = wrong = without_chance(wrong)
    fields = {"wrong": wrong & ~left if left is not None else wrong}
    if left is not None:
        fields["unwritten"] = left
    if any(bool(field.all()) for field in fields.values()):
        return None
    by_rounding = by_chance and left is None and float(wrong.double().mean()) >= _ALMOST_ALL
    if all(has_no_order(field, _ORDER_BY_CHANCE if by_rounding else _ORDER) for field in fields.values()):
        return None
    view = _View.of(bad, layout)
    flat = {name: view.cut(field) for name, field in fields.items()}
    rows = _runs(list(flat.values()), view.rows[1]) or _divisions(*view.rows, MOST_ROWS)[-1]
    columns = _coarsest([field.T for field in flat.values()], _divisions(*view.columns, MOST_COLUMNS))
    cells = {name: _cells(field.double(), rows, columns, torch.mean) for name, field in flat.items()}
    if all(min(map(min, cell)) == max(map(max, cell)) for cell in cells.values()):
        return None
    return {"kind": "share", **view.described(rows, columns), **cells}


def size_picture(error: torch.Tensor, bar: float, layout: Layout) -> dict[str, Any] | None:
    """The root mean square of each cell's error, in bars; None if it is much the same wherever it is over the bar."""
    if bar <= 0 or not extremes(error, bar, layout):
        return None
    view = _View.of(error > bar, layout)
    rows = _divisions(*view.rows, MOST_ROWS)[-1]
    columns = _divisions(*view.columns, _WIDE if error.ndim > 1 else MOST_ROWS)[-1]
    cells = _cells(view.cut(error) / bar, rows, columns, _rms)
    over = [cell for row in cells for cell in row if cell > 1]
    if not over or max(over) < _STRUCTURE * min(over):
        return None
    return {"kind": "size", **view.described(rows, columns), "bars": cells}


def tiles(wrong: torch.Tensor, layout: Layout) -> dict[str, Any] | None:
    """How many tiles have anything wrong in them, as {"of": "query tile", "wrong": 1, "all": 3}; None without tiles."""
    named = {axis.tile for axis, block in zip(layout.axes, layout.blocks, strict=True) if block}
    if not named:
        return None
    for d, block in enumerate(layout.blocks):
        starts = range(0, wrong.shape[d], block) if block else (0,)
        sizes = [min(block or wrong.shape[d], wrong.shape[d] - start) for start in starts]
        wrong = torch.stack([part.any(d) for part in wrong.split(sizes, d)], d)
    return {"of": named.pop() if len(named) == 1 else "tile", "wrong": int(wrong.sum()), "all": wrong.numel()}


def spans(numbers: Sequence[int]) -> Spans:
    """``[0, 1, 2, 7]`` as ``[(0, 2), (7, 7)]``."""
    found: Spans = []
    for number in numbers:
        if found and number == found[-1][1] + 1:
            found[-1] = (found[-1][0], number)
        else:
            found.append((number, number))
    return found


def span_text(found: Spans) -> str:
    """``0-2, 7``, at most four of them."""
    shown = [str(first) if first == last else f"{first}-{last}" for first, last in found[:4]]
    return ", ".join(shown) + (" and more" if len(found) > 4 else "")


@dataclass(frozen=True, slots=True)
class _Division:
    """An axis cut into cells; ``borders`` are the cells at which a tile begins, without the first."""

    spans: Spans
    borders: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class _View:
    """An output as rows and columns: one row of an output of one axis, the first wrong tile of one of many axes."""

    tile: tuple[int, ...]
    names: tuple[str, ...]
    row_axis: Axis | None
    column_axis: Axis
    rows: tuple[int, int]
    columns: tuple[int, int]

    @classmethod
    def of(cls, bad: torch.Tensor, layout: Layout) -> _View:
        tile = tuple(int(i) for i in bad.nonzero()[0][:-2]) if bad.ndim > 2 and bool(bad.any()) else ()
        names = tuple(axis.of for axis in layout.axes[: len(tile)])
        columns = (bad.shape[-1], layout.blocks[-1])
        if bad.ndim == 1:
            return cls(tile, names, None, layout.axes[-1], (1, 0), columns)
        return cls(tile, names, layout.axes[-2], layout.axes[-1], (bad.shape[-2], layout.blocks[-2]), columns)

    def cut(self, field: torch.Tensor) -> torch.Tensor:
        return field[self.tile].reshape(self.rows[0], self.columns[0])

    def described(self, rows: _Division, columns: _Division) -> dict[str, Any]:
        """The picture's frame, for the result document."""
        return {
            "of": ", ".join(f"{name} {number}" for name, number in zip(self.names, self.tile, strict=True)),
            "rows": _side(rows, self.row_axis),
            "columns": _side(columns, self.column_axis),
        }


def _side(division: _Division, axis: Axis | None) -> dict[str, Any]:
    return {
        "of": axis.of if axis else "",
        "tile": axis.tile if axis else "",
        "spans": [list(span) for span in division.spans],
        "borders": list(division.borders),
    }


def _divisions(length: int, block: int, most: int) -> list[_Division]:
    """Ways to cut an axis into at most ``most`` cells, from coarse to fine; cells never cross a tile's border."""
    tiles = -(-length // block) if block else 0
    if block and tiles > most:
        size = block * -(-tiles // most)
        return [_Division(_cut(length, size))]
    if not block:
        fewest = min(_FEWEST_COLUMNS, most)
        finest, coarsest = _power(-(-length // most)), _power(-(-length // fewest))
        return [_Division(_cut(length, size)) for size in _halvings(coarsest, finest)]
    finest = min(block, _power(-(-block // (most // tiles))))
    found = []
    for size in _halvings(block, finest):
        cells: Spans = []
        borders = []
        for start in range(0, length, block):
            if start:
                borders.append(len(cells))
            cells += _cut(min(block, length - start), size, start)
        found.append(_Division(cells, tuple(borders)))
    return found


def _cut(length: int, size: int, start: int = 0) -> Spans:
    return [(first, min(first + size, start + length) - 1) for first in range(start, start + length, size)]


def _halvings(coarsest: int, finest: int) -> list[int]:
    sizes = [coarsest]
    while sizes[-1] // 2 >= finest:
        sizes.append(sizes[-1] // 2)
    return sizes


def _power(number: int) -> int:
    """The power of two at or above a number."""
    return 1 << max(0, number - 1).bit_length()


def _coarsest(fields: Sequence[torch.Tensor], divisions: Sequence[_Division]) -> _Division:
    """The coarsest division of the first axis that hides nothing; the finest if each does."""
    for division in divisions:
        if all(bool((field[a : b + 1] == field[a]).all()) for field in fields for a, b in division.spans):
            return division
    return divisions[-1]


def _runs(fields: Sequence[torch.Tensor], block: int) -> _Division | None:
    """Rows that are alike and of one tile as one cell each; None if that is too many cells."""
    length = len(fields[0])
    borders = set(range(block, length, block)) if block else set()
    starts = [
        row
        for row in range(length)
        if row == 0 or row in borders or any(not torch.equal(field[row], field[row - 1]) for field in fields)
    ]
    if len(starts) > MOST_ROWS:
        return None
    ends = [*(start - 1 for start in starts[1:]), length - 1]
    return _Division(list(zip(starts, ends)), tuple(cell for cell, start in enumerate(starts) if start in borders))


def _cells(
    field: torch.Tensor, rows: _Division, columns: _Division, amount: Callable[[torch.Tensor], Any]
) -> list[list[float]]:
    return [
        [float(f"{float(amount(field[a : b + 1, c : d + 1])):.3g}") for c, d in columns.spans] for a, b in rows.spans
    ]


def _rms(error: torch.Tensor) -> float:
    return float(error.double().square().mean().sqrt())


def _along(side: torch.Tensor, axis: Axis, block: int) -> str:
    """What holds along one axis: ``every column``, ``query tile 2 (rows 64-69)``, ``rows 5-7, 12``."""
    if side.all():
        return f"every {axis.of}"
    numbers = [int(i) for i in side.nonzero().flatten()]
    length = len(side)
    if block and length > block:
        tiles = [side[start : start + block] for start in range(0, length, block)]
        touched = [number for number, tile in enumerate(tiles) if tile.any()]
        if all(bool(tile.all()) for tile in tiles if tile.any()):
            return f"{_tiles(axis, touched, len(tiles))} ({_named(axis.of, spans(numbers))})"
        if len(touched) == 1:
            return f"{_named(axis.of, spans(numbers))} in {axis.tile} {touched[0]}"
        lanes = tiles[0]
        if all(bool(tile.any()) and torch.equal(tile, lanes[: len(tile)]) for tile in tiles):
            inside = [int(i) for i in lanes.nonzero().flatten()]
            return f"{_named(axis.of, spans(inside))} of every {axis.tile}"
    return _named(axis.of, spans(numbers))


def _tiles(axis: Axis, touched: Sequence[int], count: int) -> str:
    right = [number for number in range(count) if number not in touched]
    if len(right) == 1 and len(touched) > 1:
        which = {0: "the first", count - 1: "the last"}.get(right[0], f"{axis.tile} {right[0]}")
        return f"every {axis.tile} but {which}"
    return _named(axis.tile, spans(touched))


def _named(noun: str, found: Spans) -> str:
    one = len(found) == 1 and found[0][0] == found[0][1]
    return f"{noun if one else plural(noun)} {span_text(found)}"


_DIAGONAL: Mapping[str, Callable[[torch.Tensor, torch.Tensor], torch.Tensor]] = {
    "the diagonal": lambda row, column: column == row,
    "everything above the diagonal": lambda row, column: column > row,
    "the diagonal and everything above it": lambda row, column: column >= row,
    "everything below the diagonal": lambda row, column: column < row,
    "the diagonal and everything below it": lambda row, column: column <= row,
    "everything but the diagonal": lambda row, column: column != row,
}


def _by_diagonal(wrong: torch.Tensor) -> str | None:
    """A region along the diagonal, where row and column have the same number; None if it is none."""
    if wrong.ndim != 2 or min(wrong.shape) < 3:
        return None
    row, column = torch.arange(wrong.shape[0])[:, None], torch.arange(wrong.shape[1])[None, :]
    for name, holds in _DIAGONAL.items():
        if torch.equal(wrong, holds(row, column)):
            return name
    return None
