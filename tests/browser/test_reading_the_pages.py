"""Lessons and homework in a browser without a network: hints unfold, nothing is missing, everyone can read them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from autograder.catalogue import load_course
from tests.browser.conftest import Open

pytestmark = pytest.mark.site
AXE = Path(__file__).parents[2] / "course" / "site" / "node_modules" / "axe-core" / "axe.min.js"
PAGES = [
    "index.html",
    "lessons/lesson7.html",
    "playground.html",
    "surgery-map.html",
    "homework/lesson7/score_mask.html",
]
OTHERS = [f"lessons/lesson{lesson.number}.html" for lesson in load_course(Path(__file__).parents[2]).lessons]
THEMES = [(name, dark) for name in PAGES for dark in (False, True)]
THEMES += [(name, dark) for name in OTHERS if name not in PAGES for dark in (False, True)]


_MISPLACED = """
Array.from(document.querySelectorAll(".picture svg")).flatMap((svg) => {
  const frame = svg.getBoundingClientRect();
  const level = (text) => Math.abs(text.getScreenCTM().b) < 0.01;  // a slanted text is not as large as its box
  const texts = Array.from(svg.querySelectorAll("text")).map((text) =>
    [text.textContent.trim(), text.getBoundingClientRect(), level(text)]);
  const outside = texts.filter(([, box]) => box.left < frame.left - 1 || box.right > frame.right + 1
    || box.top < frame.top - 1 || box.bottom > frame.bottom + 1).map(([words]) => `${words} is outside`);
  const shared = (a, b) => Math.min(a.right, b.right) - Math.max(a.left, b.left) > 2
    && Math.min(a.bottom, b.bottom) - Math.max(a.top, b.top) > 0.4 * Math.min(a.height, b.height);
  const meeting = texts.flatMap(([words, a, first], at) => texts.slice(at + 1)
    .filter(([, b, second]) => first && second && shared(a, b)).map(([other]) => `${words} lies on ${other}`));
  return [...outside, ...meeting];
})
"""


def test_a_hint_is_folded_until_it_is_opened(open_page: Open) -> None:
    page = open_page("homework/lesson7/score_mask.html")
    hint = page.locator("details.hint").first
    words = hint.get_by_text("A score is kept if its query exists")
    assert not words.is_visible()
    hint.locator("summary").click()
    assert words.is_visible()


def test_hints_open_and_close_by_keyboard(open_page: Open) -> None:
    page = open_page("lessons/lesson1.html")
    hint = page.locator("details.hint").first
    hint.locator("summary").focus()
    assert hint.get_attribute("open") is None
    page.keyboard.press("Enter")
    assert hint.get_attribute("open") is not None
    page.keyboard.press("Space")
    assert hint.get_attribute("open") is None
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.matches('details.hint > summary')")


@pytest.mark.parametrize("name", OTHERS)
def test_a_lesson_fits_a_phone_and_its_pictures_fit_their_frames(open_page: Open, name: str) -> None:
    """Wide code and pictures scroll by themselves, by keyboard too; words lie in their picture and beside others."""
    page = open_page(name, width=390)
    assert page.evaluate("document.documentElement.scrollWidth") <= 390
    assert (
        page.locator(".picture[tabindex='0'] svg[role=img][aria-label]").count()
        == page.locator("svg[viewBox]", has=page.locator("text")).count()
    )
    page.evaluate("document.fonts.ready")
    assert page.evaluate(_MISPLACED) == []


def test_the_lesson_holds_its_pictures_kernels_and_playground(open_page: Open) -> None:
    page = open_page("lessons/lesson7.html")
    assert page.locator(".picture svg[role=img]").count() == 3
    assert page.locator(".kernel-blank").count() >= 6
    assert page.locator("attention-playground .trace li").count() == 8
    assert page.locator("table.surgery tbody tr").count() == 10
    assert page.evaluate("document.fonts.ready.then(() => document.fonts.check('16px \"Inter Variable\"'))")


def test_search_finds_a_page_from_a_folder(open_page: Open) -> None:
    page = open_page("search.html", query="q=ghost")
    page.locator("#search-results li").first.wait_for()


@pytest.mark.parametrize(("name", "dark"), THEMES)
def test_axe_finds_nothing_serious(open_page: Open, name: str, dark: bool) -> None:
    page = open_page(name, dark=dark)
    _everything_open(page)
    if page.locator("attention-playground").count():
        assert _violations(page) == []
        page.locator("attention-playground [data-focus=tab-online]").click()
        page.locator("attention-playground [data-focus=end]").click()
    assert _violations(page) == []


def _everything_open(page: Any) -> None:
    page.evaluate("document.querySelectorAll('details').forEach((item) => { item.open = true; })")


def _violations(page: Any) -> list[str]:
    page.add_script_tag(path=str(AXE))
    found = page.evaluate("axe.run(document, { resultTypes: ['violations'], preload: false })")
    return [
        f"{item['id']} ({item['impact']}): {item['nodes'][0]['html'][:200]} {item['nodes'][0]['failureSummary'][:300]}"
        for item in found["violations"]
        if item["impact"] in ("serious", "critical")
    ]
