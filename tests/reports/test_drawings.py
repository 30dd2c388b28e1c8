"""Where a check failed is drawn in a page as well: a small SVG that prints, with all that it shows in words."""

from __future__ import annotations

import re
import xml.etree.ElementTree as ElementTree
from dataclasses import replace
from typing import Any

import pytest

from autograder.reports.html import feedback_page
from autograder.reports.html._drawing import drawing
from autograder.result import Clue, ExerciseResult
from tests.reports.made import HIDDEN_WORDS, Page, check, exercise, run, student
from tests.reports.snapshots import FAILURES, stored
from tests.reports.test_pictures import place

TABLE = {
    "rows": [[0, 31], [32, 37]],
    "columns": [[0, 31], [32, 40]],
    "got": [[0.7, 0.3], [1.0, 0.0]],
    "expected": [[0.5, 0.5], [0.5, 0.5]],
    "condition": "with the causal mask",
}


def page(where: dict[str, Any], **changes: Any) -> str:
    failed = replace(check("ragged", "fail"), where=where)
    made: ExerciseResult = exercise(checks=(failed,), **changes)
    return feedback_page("A Course", student(run(made)))


def pictures(html: str) -> list[ElementTree.Element]:
    return [ElementTree.fromstring(svg) for svg in re.findall(r"<svg.*?</svg>", html, re.DOTALL)]


def test_a_page_draws_where_it_is_wrong_and_says_it() -> None:
    (svg,) = pictures(page(place()))
    assert svg.find("title").text == "o: rows down, columns across"  # type: ignore[union-attr]
    assert svg.find("desc").text == (  # type: ignore[union-attr]
        "query tile 0: rows 0-31: right; query tile 1: rows 32-63: columns 0-15 right, columns 16-31 about half; "
        "query tile 2: rows 64-69: never written."
    )
    assert svg.get("role") == "img"
    assert "never written" in (svg.get("aria-label") or "")
    assert [text.text for text in svg.findall("text")].count("?") == 2  # in the picture and in the legend


@pytest.mark.parametrize("name", FAILURES)
def test_everything_drawn_lies_within_the_picture(name: str) -> None:
    for item in stored(name).exercises[0].checks:
        made = drawing(item.where)
        if made is None:
            continue
        assert made.width <= 700
        for cell in made.cells:
            assert 0 <= cell.x < cell.x + cell.width <= made.width
            assert 0 <= cell.y < cell.y + cell.height <= made.height
        for label in made.labels:
            assert 0 <= label.y <= made.height


def test_a_page_shows_the_weights_as_a_table() -> None:
    clue = Clue("mass", "Keys 32-40 (chunk 1) count for nothing in query tile 1.", True, TABLE)
    html = page(place(), clues=(clue,))
    seen = Page(html)
    assert "Seen: Keys 32-40 (chunk 1) count for nothing in query tile 1." in seen.text
    assert "values in percent, with the causal mask" in seen.text
    assert "rows 32-37 100% 0% 50% 50%" in seen.text
    assert "<script" not in html


def test_no_text_of_a_document_becomes_markup() -> None:
    evil = "<script>alert(1)</script>\"' onload='x"
    side = {"of": evil, "tile": evil, "spans": [[0, 3], [4, 7]], "borders": [1]}
    clue = Clue("mass", evil, True, {**TABLE, "condition": evil})
    html = page(place(label=evil, of=evil, rows=side, columns=side, wrong=[[0, 1]] * 2, unwritten=[[0, 0]] * 2))
    html += page(place(), clues=(clue,))
    assert "<script" not in html
    assert not any(name.startswith("on") for _, attributes in Page(html).elements for name in attributes)


@pytest.mark.parametrize("table", [{}, {**TABLE, "got": [[1.0]]}, {**TABLE, "got": [["x", 1], [1, 1]]}, {"rows": 3}])
def test_half_a_table_is_none(table: dict[str, Any]) -> None:
    html = page(place(), clues=(Clue("mass", "Seen once.", True, table),))
    assert "Seen: Seen once." in html
    assert 'class="mass"' not in html


def test_nothing_of_a_hidden_check_is_drawn() -> None:
    clue = Clue("mass", "The secret keys count.", True, {**TABLE, "condition": "secret 0.4142"})
    passed = exercise(checks=(check("a"), *exercise().checks[2:4]), clues=(clue,))
    html = feedback_page("A Course", student(run(passed)))
    assert "<svg" not in html
    assert [word for word in HIDDEN_WORDS if word in html] == []
