"""A wrong region is told in words of the axes and as cells that follow the tiles; what tells nothing is left out."""

from __future__ import annotations

import struct
from collections.abc import Callable

import pytest
import torch

from autograder.axes import Axis
from autograder.judge.compare import compare
from autograder.judge.region import (
    MOST_COLUMNS,
    MOST_ROWS,
    Layout,
    extremes,
    has_no_order,
    share_picture,
    size_picture,
    tiles,
    without_chance,
    words,
)
from autograder.protocol import POISON

ROW, COLUMN = Axis("row", "query tile", "block_m"), Axis("column")
CASE = {"block_m": 32}
TILES = Layout.of((ROW, COLUMN), CASE)


def region(*places: tuple[slice, slice], shape: tuple[int, int] = (70, 32)) -> torch.Tensor:
    wrong = torch.zeros(shape, dtype=torch.bool)
    for place in places:
        wrong[place] = True
    return wrong


EVERY = slice(None)


@pytest.mark.parametrize(
    ("places", "said"),
    [
        ([(slice(64, 70), EVERY)], "query tile 2 (rows 64-69), every column"),
        ([(slice(32, 70), EVERY)], "every query tile but the first (rows 32-69), every column"),
        (
            [(slice(0, 32), EVERY), (slice(64, 70), EVERY)],
            "every query tile but query tile 1 (rows 0-31, 64-69), every",
        ),
        ([(slice(33, 40), EVERY)], "rows 33-39 in query tile 1, every column"),
        ([(slice(5, 6), EVERY), (slice(37, 38), EVERY), (slice(69, 70), EVERY)], "row 5 of every query tile, every"),
        ([(slice(30, 34), slice(3, 5))], "rows 30-33, columns 3-4"),
        ([(EVERY, slice(7, 8))], "every row, column 7"),
        ([(slice(0, 1), slice(0, 1)), (slice(9, 10), slice(9, 10))], "some of rows 0, 9 in query tile 0, columns 0, 9"),
    ],
)
def test_the_words(places: list[tuple[slice, slice]], said: str) -> None:
    assert words(region(*places), TILES).startswith(said)


def test_all_of_it_needs_no_words_and_most_of_it_few() -> None:
    wrong = torch.ones(70, 32, dtype=torch.bool)
    assert words(wrong, TILES) == ""
    wrong[::9, 3] = False
    assert words(wrong, TILES) == "almost everywhere"
    wrong[:, ::2] = False
    wrong[1, 2] = wrong[1, 0] = True
    assert words(region((slice(0, 70, 2), slice(0, 16)), (slice(1, 70, 2), slice(16, 32))), TILES) == (
        "scattered over all of it"
    )


@pytest.mark.parametrize(
    ("holds", "said"),
    [
        (lambda i, j: j > i, "everything above the diagonal"),
        (lambda i, j: i == j, "the diagonal"),
        (lambda i, j: j <= i, "the diagonal and everything below it"),
    ],
)
def test_the_diagonal(holds, said: str) -> None:  # type: ignore[no-untyped-def]
    number = torch.arange(16)
    assert words(holds(number[:, None], number[None, :]), Layout.of((ROW, COLUMN), {"block_m": 16})) == said


def test_several_leading_axes_are_named_each() -> None:
    axes = tuple(Axis(of) for of in ("query tile", "key tile", "row", "column"))
    wrong = torch.zeros(3, 2, 16, 32, dtype=torch.bool)
    wrong[2, :, 13:] = True
    layout = Layout.of(axes, {})
    assert words(wrong, layout) == "query tile 2, every key tile, rows 13-15, every column"
    picture = share_picture(wrong, None, layout)
    assert picture is not None
    assert picture["of"] == "query tile 2, key tile 0"
    assert picture["rows"]["spans"] == [[0, 12], [13, 15]]


@pytest.mark.parametrize(
    ("noun", "said"), [("query", "queries 3-8"), ("batch", "batches 3-8"), ("key", "keys 3-8"), ("head", "heads 3-8")]
)
def test_several_of_an_axis_are_told_in_its_plural(noun: str, said: str) -> None:
    assert words(region((slice(3, 9), EVERY)), Layout.of((Axis(noun), COLUMN), CASE)).startswith(said)


def test_rows_that_are_alike_are_one_cell_and_tiles_have_borders() -> None:
    picture = share_picture(region((slice(40, 70), slice(16, 32))), None, TILES)
    assert picture is not None
    assert picture["rows"]["spans"] == [[0, 31], [32, 39], [40, 63], [64, 69]]
    assert picture["rows"]["borders"] == [1, 3]
    assert picture["columns"]["spans"] == [[first, first + 3] for first in range(0, 32, 4)]
    assert picture["wrong"] == [[0.0] * 8, [0.0] * 8, [0.0] * 4 + [1.0] * 4, [0.0] * 4 + [1.0] * 4]


@pytest.mark.parametrize("shape", [(2, 2), (70, 32), (333, 97), (4096, 4096), (5, 1), (1, 5), (1000, 1)])
@pytest.mark.parametrize("block", [0, 16, 32])
def test_a_picture_is_small_and_shows_each_element_once(shape: tuple[int, int], block: int) -> None:
    wrong = torch.rand(shape, generator=torch.Generator().manual_seed(1)) < 0.3
    wrong[: shape[0] // 2] = False
    wrong[0, 0], wrong[-1, -1] = True, False
    layout = Layout.of((ROW, Axis("column", "chunk", "block_m")), {"block_m": block})
    picture = share_picture(wrong, None, layout)
    if int(wrong.sum()) < 2:
        assert picture is None
        return
    assert picture is not None
    assert len(picture["wrong"]) == len(picture["rows"]["spans"]) <= MOST_ROWS
    assert {len(row) for row in picture["wrong"]} == {len(picture["columns"]["spans"])}
    assert len(picture["columns"]["spans"]) <= MOST_COLUMNS
    for side, length in (("rows", shape[0]), ("columns", shape[1])):
        spans = picture[side]["spans"]
        assert [number for first, last in spans for number in range(first, last + 1)] == list(range(length))
        for border in picture[side]["borders"]:
            assert spans[border][0] % block == 0


def test_where_a_picture_adds_nothing_there_is_none() -> None:
    one = region((slice(3, 4), slice(3, 4)))
    assert share_picture(one, None, TILES) is None
    assert share_picture(torch.ones(70, 32, dtype=torch.bool), None, TILES) is None
    assert share_picture(torch.ones(1, dtype=torch.bool), None, Layout.of((ROW,), CASE)) is None
    assert size_picture(torch.ones(70, 32), 1e-6, TILES) is None
    alike = torch.rand(70, 32, generator=torch.Generator().manual_seed(2)) + 0.1
    assert size_picture(alike, 1e-6, TILES) is None


def test_an_error_over_everything_is_shown_by_its_size_if_that_differs_by_much() -> None:
    error = torch.full((70, 32), 1e-5)
    error[:32] = 3.0
    assert extremes(error, 1e-6, TILES) == "by the most in rows 0-31 and by the least in rows 32-69"
    picture = size_picture(error, 1e-6, TILES)
    assert picture is not None
    assert picture["bars"][0] == [3e6] * 4
    assert picture["bars"][-1] == [10.0] * 4


def test_messages_say_the_region_once_and_in_one_voice() -> None:
    exact = torch.ones(70, 32, dtype=torch.float64)
    got = exact.clone()
    got[64:] = 2.0
    close = compare("o", "close", got, exact, exact.float(), None, None, TILES)
    assert close.message.endswith(
        "192 of 2240 elements are off by more than rounding: query tile 2 (rows 64-69), every column."
    )
    assert close.where is not None
    assert close.where["picture"]["wrong"][-1] == [1.0] * 8
    same = compare("o", "exact", got, exact, exact.float(), None, None, TILES)
    assert same.message.endswith("got 2, expected 1. Wrong: query tile 2 (rows 64-69), every column.")
    got[64:] = torch.nan
    special = compare("o", "close", got, exact, exact.float(), None, None, TILES)
    assert "192 of 2240 elements are like that: query tile 2 (rows 64-69), every column." in special.message
    got[:] = 3.0
    everything = compare("o", "close", got, exact, exact.float(), None, None, TILES)
    assert everything.message.endswith("All 2240 elements are off by more than rounding.")
    assert everything.where is not None
    assert "picture" not in everything.where
    got[:] = 1.0
    got[3, 4] = 9.0
    single = compare("o", "close", got, exact, exact.float(), None, None, TILES)
    assert single.message.endswith("1 of 2240 elements is off by more than rounding.")


def test_what_was_never_written_is_told_from_what_is_wrong() -> None:
    exact = torch.ones(70, 32, dtype=torch.float64)
    got = torch.ones(70, 32)
    got[32:64] = 5.0
    got.view(torch.int32)[64:] = struct.unpack("<i", POISON["float32"])[0]
    result = compare("o", "close", got, exact, exact.float(), got, None, TILES)
    assert result.message == (
        "Rows 64-69 of o were never written; of the 2048 elements that were written, 1024 are wrong: "
        "query tile 1 (rows 32-63), every column."
    )
    assert result.where is not None
    assert [row[0] for row in result.where["picture"]["wrong"]] == [0.0, 1.0, 0.0]
    assert [row[0] for row in result.where["picture"]["unwritten"]] == [0.0, 0.0, 1.0]


# How many tiles -------------------------------------------------------------------------------------------------------


def test_tiles_with_anything_wrong_in_them_are_counted() -> None:
    wrong = region((slice(5, 6), slice(3, 4)), (slice(69, 70), EVERY))
    assert tiles(wrong, TILES) == {"of": "query tile", "wrong": 2, "all": 3}
    both = Layout.of((ROW, Axis("column", "key tile", "block_n")), {**CASE, "block_n": 16})
    assert tiles(wrong, both) == {"of": "tile", "wrong": 3, "all": 6}
    assert tiles(wrong, Layout.of((Axis("row"), COLUMN), CASE)) is None


def test_a_count_says_whether_it_is_all_that_is_wrong() -> None:
    """Beside a NaN, what is merely off is not counted."""
    exact = torch.zeros(70, 32, dtype=torch.float64)
    got = exact.clone()
    got[64:] = 1.0
    where = compare("o", "close", got, exact, exact.float(), None, layout=TILES).where
    assert where is not None
    assert (where["whole"], where["wrong"], where["tiles"]) == (True, 192, {"of": "query tile", "wrong": 1, "all": 3})
    got[0, 0] = float("nan")
    where = compare("o", "close", got, exact, exact.float(), None, layout=TILES).where
    assert where is not None
    assert (where["whole"], where["wrong"]) == (False, 1)


def test_what_is_right_by_chance_is_worth_no_word_and_no_picture() -> None:
    layout = Layout.of((ROW, COLUMN), {"block_m": 16})
    wrong = torch.ones(32, 32, dtype=torch.bool)
    lucky = torch.randperm(32 * 32, generator=torch.Generator().manual_seed(1))[:40]
    wrong.view(-1)[lucky] = False
    assert words(wrong, layout) == "almost everywhere"
    assert share_picture(wrong, None, layout, by_chance=True) is None
    in_order = torch.ones(32, 32, dtype=torch.bool)
    in_order[4::8, 4::8] = False
    assert share_picture(in_order, None, layout) is not None  # what is right for a reason
    upper = wrong & (torch.arange(32) < 20)[:, None]
    made = share_picture(upper, None, layout, by_chance=True)
    assert made is not None
    assert made["rows"]["spans"] == [[0, 15], [16, 19], [20, 31]]


@pytest.mark.parametrize(
    "right",
    [
        lambda row, column: row == 40,
        lambda row, column: column < 2,
        lambda row, column: row == column,
        lambda row, column: (row >= 40) & (column >= 16),
        lambda row, column: (row >= 56) & (column >= 48),
    ],
)
def test_what_is_right_and_has_an_order_stays_in_the_picture(right: Callable[..., torch.Tensor]) -> None:
    row, column = torch.arange(64)[:, None], torch.arange(64)[None, :]
    wrong = ~right(row, column).expand(64, 64)
    assert torch.equal(without_chance(wrong), wrong)
    assert share_picture(wrong, None, TILES, by_chance=True) == share_picture(wrong, None, TILES)


@pytest.mark.parametrize("share", [0.13, 0.5, 0.95])
def test_what_has_no_order_is_said_in_words_and_not_shown(share: float) -> None:
    wrong = torch.rand(24, 60, generator=torch.Generator().manual_seed(3)) < share
    assert has_no_order(wrong)
    assert share_picture(wrong, None, TILES) is None
    assert words(wrong, TILES) == ("almost everywhere" if share > 0.9 else "scattered, in no order")


@pytest.mark.parametrize(
    "ordered",
    [
        lambda row, column: (row + column) % 3 == 0,
        lambda row, column: row >= 16,
        lambda row, column: column % 2 == 0,
        lambda row, column: row == column,
        lambda row, column: row > column,
    ],
)
def test_what_has_an_order_is_not_taken_for_chance(ordered: Callable[..., torch.Tensor]) -> None:
    row, column = torch.arange(32)[:, None], torch.arange(48)[None, :]
    assert not has_no_order(ordered(row, column).expand(32, 48))
    by_chance = torch.rand(32, 48, generator=torch.Generator().manual_seed(4)) < 0.8
    assert not has_no_order(ordered(row, column).expand(32, 48) & by_chance)


def test_ghosts_at_two_sides_are_told_as_two_sides() -> None:
    wrong = torch.zeros(3, 75, dtype=torch.bool)
    wrong[1:], wrong[:, 32:] = True, True
    flat = Layout.of((ROW, COLUMN), {})
    assert words(wrong, flat) == "the last columns (32-74) and the last rows (1-2)"
    stacked = torch.zeros(3, 16, 32, dtype=torch.bool)
    stacked[..., 20:], stacked[2, 5:] = True, True
    tiled = Layout.of((Axis("tile"), Axis("row"), COLUMN), {})
    assert words(stacked, tiled) == "the last columns (20-31) and the last tile (2), the last rows (5-15)"
    wrong[:] = False
    wrong[0], wrong[:, 0] = True, True
    assert words(wrong, flat) == "the first column (0) and the first row (0)"


def test_rows_and_columns_that_are_right_by_chance_a_little_more_often_are_no_order() -> None:
    chance = torch.rand(32, 32, generator=torch.Generator().manual_seed(5))
    wrong = chance >= 0.04 + 0.1 * (torch.arange(32) % 8 == 5)
    assert 0.9 <= float(wrong.double().mean()) < 0.95
    assert share_picture(wrong, None, TILES, by_chance=True) is None
    wrong[:, 4] = False
    assert share_picture(wrong, None, TILES, by_chance=True) is not None
