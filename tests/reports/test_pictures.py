"""Pictures are drawn within 80 columns, mean the same without colour, and a damaged one is left out."""

from __future__ import annotations

from typing import Any

import pytest

from autograder.reports.pictures import read_picture
from autograder.reports.terminal_pictures import drawn


def side(of: str, spans: list[list[int]], borders: list[int] | None = None, tile: str = "") -> dict[str, Any]:
    return {"of": of, "tile": tile, "spans": spans, "borders": borders or []}


def place(**changes: Any) -> dict[str, Any]:
    picture = {
        "kind": "share",
        "label": "o",
        "of": "",
        "rows": side("row", [[0, 31], [32, 63], [64, 69]], [1, 2], "query tile"),
        "columns": side("column", [[0, 15], [16, 31]]),
        "wrong": [[0.0, 0.0], [0.0, 0.5], [0.0, 0.0]],
        "unwritten": [[0.0, 0.0], [0.0, 0.0], [1.0, 1.0]],
    }
    return {"output": "o", "picture": {**picture, **changes}}


def lines(where: dict[str, Any], plain: bool = False) -> list[str]:
    picture = read_picture(where)
    assert picture is not None
    return [str(line) for line in drawn(picture, plain)]


def test_a_picture_in_a_terminal() -> None:
    assert lines(place()) == [
        "o: rows down, columns across",
        " query tile 0: rows 0-31 |..|",
        "                         +--+",
        "query tile 1: rows 32-63 |.+|",
        "                         +--+",
        "query tile 2: rows 64-69 |??|",
        "                          columns 0 to 31, 16 a character",
        ". right   + about half   ? never written",
    ]


def test_each_row_of_cells_says_of_what_it_is() -> None:
    rows = side("row", [[0, 15], [16, 31], [32, 69]], [2], "query tile")
    heads = [line.partition("|")[0].strip() for line in lines(place(rows=rows)) if "|" in line]
    assert heads == ["query tile 0: rows 0-15", "rows 16-31", "query tile 1: rows 32-69"]


def test_a_cell_of_which_some_was_written_has_a_mark_of_its_own() -> None:
    half = lines(place(wrong=[[0.0, 0.0]] * 3, unwritten=[[0.0, 0.0], [0.5, 0.02], [1.0, 1.0]]))
    assert "query tile 1: rows 32-63 |~~|" in half
    assert half[-1] == ". right   ~ written in part   ? never written"


def test_plain_has_no_rules_and_is_ascii() -> None:
    said = lines(place(), plain=True)
    assert not any(char in line for line in said for char in "|")
    assert not any(line.strip().startswith("+-") for line in said)
    assert "".join(said).isascii()


def test_every_picture_fits_80_columns() -> None:
    spans = [[1000 * i, 1000 * i + 999] for i in range(32)]
    columns = side("column", spans, [4, 8, 12, 16, 20, 24, 28], "key tile")
    rows = side("row", spans[:16], [4, 8, 12], "query tile")
    wide = place(rows=rows, columns=columns, wrong=[[0.1, 0.5, 0.9, 1.0] * 8] * 16, unwritten=[[0.0] * 31 + [1.0]] * 16)
    assert max(map(len, lines(wide))) <= 74
    sizes = place(kind="size", rows=rows, columns=columns, bars=[[1e1, 1e3, 1e5, 1e8] * 8] * 16)
    assert max(map(len, lines(sizes))) <= 74


def test_sizes_have_a_legend_in_bars() -> None:
    said = lines(place(kind="size", bars=[[0.5, 20.0], [200.0, 2000.0], [2e4, 1.5e5]]))
    assert said[0] == "o, by size of the error: rows down, columns across"
    assert said[1].endswith("|.-|")
    assert said[-3:][1:] == [
        ". right   - up to 200   + up to 2,000   x up to 20,000",
        "# up to 200,000 times what is rounding",
    ]


@pytest.mark.parametrize(
    "where",
    [
        None,
        {},
        {"picture": 3},
        {"picture": {}},
        place(wrong=[[0.0, 0.0]]),
        place(wrong=[[0.0], [0.0], [0.0]]),
        place(wrong=[["nan", 0.0]] * 3),
        place(wrong=[[-1.0, 0.0]] * 3),
        place(rows=side("row", [])),
        place(rows=side("row", [[0, 1]] * 1000)),
        place(rows={"of": "row"}),
        place(unwritten=7),
        place(kind="size"),
    ],
)
def test_a_damaged_picture_is_none(where: dict[str, Any] | None) -> None:
    assert read_picture(where) is None
