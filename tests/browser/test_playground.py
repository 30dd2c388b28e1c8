"""The attention playground, used as a reader uses it: mouse, keyboard, phone; its numbers against float64."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import pytest
import torch

from tests.browser.conftest import Open
from tests.browser.reading import close, number, numbers, oracle, texts

pytestmark = pytest.mark.site
HOME = "playground.html"
ROOT = Path(__file__).parents[2]


def _part(page: Any, name: str) -> Any:
    return page.locator(f"attention-playground [data-focus={name}]")


def _state(page: Any) -> dict[str, Any]:
    return dict(page.evaluate("structuredClone(document.querySelector('attention-playground').state)"))


def _row(page: Any, i: int) -> tuple[list[float], list[float]]:
    """A query's cells as shown, and its results m, l, o."""
    cells = numbers(page, f"button[data-row='{i}']")
    results = numbers(page, f"tr:has(button[data-row='{i}']) td.result")
    return cells, results


def _compare(page: Any) -> None:
    """The whole table that is shown, with the oracle of the state that the page holds."""
    state = _state(page)
    exact = oracle(state)
    tokens, keys = exact["s"].shape
    for i in range(tokens):
        cells, results = _row(page, i)
        close(cells[:keys], exact["s"][i])
        assert all(cell == -math.inf for cell in cells[keys:])
        close(results[2:], exact["o"][i])
        m, l = results[:2]
        if l:
            assert m + math.log(l) == pytest.approx(float(exact["lse"][i]), rel=2e-3, abs=2e-3)


@pytest.mark.parametrize("preset", ["copy", "ragged", "far"])
def test_the_table_shows_what_float64_gives(open_page: Open, preset: str) -> None:
    page = open_page(HOME)
    _part(page, f"preset-{preset}").click()
    _compare(page)
    _part(page, "causal").click()
    _compare(page)
    _part(page, "padding").select_option("1")
    _compare(page)


def test_full_precision_is_float32_of_the_oracle(open_page: Open) -> None:
    page = open_page(HOME)
    for preset in ("copy", "ragged", "far"):
        _part(page, f"preset-{preset}").click()
        exact = oracle(_state(page))
        got = page.evaluate("document.querySelector('attention-playground').result.o")
        error = float((torch.tensor(got, dtype=torch.float64) - exact["o"]).abs().max())
        assert error < 1e-4 * float(exact["o"].abs().max())


def test_ghosts_take_weight_when_their_mask_is_off(open_page: Open) -> None:
    page = open_page(HOME)
    _part(page, "preset-ragged").click()
    masked = _row(page, 0)[1]
    _part(page, "maskGhosts").click()
    _compare(page)
    assert _row(page, 0)[1] != masked
    _part(page, "cell-0-6").click()
    assert texts(page, ".trace [data-step=mask] span") == ["kept, although there is no key 6: its 0 takes weight"]
    _part(page, "causal").click()  # the causal mask hides the ghosts from every real query
    exact = oracle({**_state(page), "maskGhosts": True})
    for i in range(5):
        close(_row(page, i)[1][2:], exact["o"][i])


def test_a_score_is_traced_from_the_product_to_the_output(open_page: Open) -> None:
    page = open_page(HOME)
    _part(page, "preset-ragged").click()
    _part(page, "cell-2-3").click()
    state, exact = _state(page), oracle(_state(page))
    assert texts(page, ".trace p.title") == ["Query 2 meets key 3"]
    assert texts(page, ".trace b") == ["product", "scale", "mask", "maximum", "exp", "sum", "probability", "output"]
    product, scaled, kept, largest, exp, total, share = numbers(page, ".trace li:not([data-step=output]) output")
    s = exact["s"]
    assert product == pytest.approx(sum(a * b for a, b in zip(state["q"][2], state["k"][3], strict=True)), abs=1e-3)
    assert scaled == kept == pytest.approx(float(s[2, 3]), abs=1e-3)
    assert largest == pytest.approx(float(s[2].max()), abs=1e-3)
    assert exp == pytest.approx(math.exp(float(s[2, 3] - s[2].max())), abs=1e-3)
    assert total == pytest.approx(float((s[2] - s[2].max()).exp().sum()), abs=1e-3)
    assert share == pytest.approx(float(exact["p"][2, 3]), abs=1e-3)
    output = texts(page, ".trace [data-step=output] output")[0].strip("[]").split(",")
    close([number(text) for text in output], exact["o"][2])


def test_with_the_causal_mask_the_future_disappears(open_page: Open) -> None:
    page = open_page(HOME)
    _part(page, "preset-ragged").click()
    _part(page, "cell-1-4").click()
    assert number(texts(page, ".trace [data-step=mask] output")[0]) > -math.inf
    _part(page, "causal").click()
    assert number(texts(page, ".trace [data-step=mask] output")[0]) == -math.inf
    assert "the future" in texts(page, ".trace [data-step=mask] span")[0]
    assert "x = \N{MINUS SIGN}\N{INFINITY}" in texts(page, ".trace [data-step=mask] span")[0]
    assert number(texts(page, ".trace [data-step=probability] output")[0]) == 0
    for i in range(5):
        cells, _ = _row(page, i)
        assert [cell == -math.inf for cell in cells] == [j > i for j in range(8)]
    assert page.locator("attention-playground [role=status]").inner_text().startswith("The future is hidden")


@pytest.mark.parametrize(("preset", "chunk"), [("copy", 1), ("copy", 2), ("ragged", 4), ("far", 3)])
def test_the_online_softmax_ends_at_the_same_output(open_page: Open, preset: str, chunk: int) -> None:
    page = open_page(HOME)
    _part(page, f"preset-{preset}").click()
    exact = oracle(_state(page))
    _part(page, "tab-online").click()
    _part(page, "chunk").select_option(str(chunk))
    block = _state(page)["block"]
    count = math.ceil(block / chunk)
    for done in range(1, count + 1):
        _part(page, "next").click()
        assert texts(page, "[data-progress]") == [f"{done} of {count} chunks"]
        _compare_states(page, exact, min(done * chunk, exact["s"].shape[1]))
    assert _part(page, "next").is_disabled()
    assert texts(page, "[data-verdict]")[0].startswith("The same O")


def _compare_states(page: Any, exact: dict[str, torch.Tensor], seen: int) -> None:
    """m, l, acc and acc / l of every row after the first ``seen`` keys, from their definitions."""
    v = torch.tensor(_state(page)["v"], dtype=torch.float64)
    rows, width = exact["o"].shape
    shown = texts(page, "table.states td.result")
    for i in range(rows):
        cells = shown[i * (3 + 2 * width) : (i + 1) * (3 + 2 * width)]
        s = exact["s"][i, :seen]
        m = float(s.max())
        w = (s - (m if m > -math.inf else 0.0)).exp()
        acc = w @ v[:seen]
        assert number(cells[0]) == pytest.approx(m, rel=1e-3, abs=1e-3)
        assert number(cells[1]) == pytest.approx(float(w.sum()), rel=1e-3, abs=1e-3)
        close([number(text) for text in cells[3 : 3 + width]], acc)
        close([number(text) for text in cells[3 + width :]], acc / (w.sum() if w.sum() else 1.0))


def test_a_zero_carried_on_as_the_maximum_loses_rows_near_minus_120(open_page: Open) -> None:
    page = open_page(HOME)
    _part(page, "preset-far").click()
    _part(page, "tab-online").click()
    _part(page, "guard").select_option("carried")
    _part(page, "end").click()
    assert "6 of 6 rows are lost" in texts(page, "[data-verdict]")[0]
    assert "NaN" in texts(page, "table.states td.bad")
    _part(page, "guard").select_option("within")
    assert texts(page, "[data-verdict]")[0].startswith("The same O")


def test_numbers_can_be_edited_and_what_is_no_number_is_kept_out(open_page: Open) -> None:
    page = open_page(HOME)
    _part(page, "numbers").click()
    field = _part(page, "v-1-0")
    field.fill("-250.5")
    field.press("Tab")
    assert _state(page)["v"][1][0] == -250.5
    _compare(page)
    field.fill("")
    field.press("Tab")
    assert field.get_attribute("aria-invalid") == "true"
    assert _state(page)["v"][1][0] == -250.5


def test_it_works_by_keyboard_alone(open_page: Open) -> None:
    page = open_page(HOME)
    _part(page, "cell-2-1").focus()
    page.keyboard.press("ArrowRight")
    page.keyboard.press("ArrowDown")
    assert texts(page, ".trace p.title") == ["Query 3 meets key 2"]
    focused = "document.querySelector('attention-playground').shadowRoot.activeElement.dataset.focus"
    assert page.evaluate(focused) == "cell-3-2"
    _part(page, "causal").focus()
    page.keyboard.press("Space")
    assert _state(page)["causal"] is False
    assert page.evaluate(focused) == "causal"
    _part(page, "tab-one-shot").focus()
    page.keyboard.press("ArrowRight")
    assert page.evaluate(focused) == "tab-online"
    page.keyboard.press("Tab")
    assert page.evaluate(focused) == "chunk"
    _part(page, "next").focus()
    page.keyboard.press("Enter")
    assert page.evaluate(focused) == "next"
    assert "After 1 of 3 chunks" in page.locator("attention-playground [role=status]").inner_text()


def test_on_a_phone_nothing_is_wider_than_the_screen(open_page: Open) -> None:
    for name in (HOME, "lessons/lesson7.html", "surgery-map.html"):
        page = open_page(name, width=360)
        assert page.evaluate("document.scrollingElement.scrollWidth") <= 360, name


def test_it_follows_the_theme_of_the_page(open_page: Open) -> None:
    page = open_page(HOME, dark=True)
    app = page.locator("attention-playground .app")
    assert app.get_attribute("data-theme") == "dark"
    page.evaluate("document.documentElement.dataset.theme = 'light'")
    assert app.get_attribute("data-theme") == "light"


def test_a_notebook_widget_can_render_the_same_module(open_page: Open) -> None:
    """What anywidget does: import the module, call `render` with a model and an element, undo it in the end."""
    page = open_page("surgery-map.html")
    module = (ROOT / "course" / "playground" / "attention-playground.js").read_text(encoding="utf-8")
    calls = """
    globalThis.saved = [];
    const values = { preset: "ragged", view: "online", state: {} };
    const model = { get: (name) => values[name], set: (name, value) => { values[name] = value; },
                    save_changes: () => globalThis.saved.push(values.state) };
    const el = document.querySelector("main article");
    globalThis.undo = render({ model, el });
    """
    page.add_script_tag(type="module", content=module + calls)
    assert texts(page, "[role=tab][aria-selected=true]") == ["Online softmax"]
    _part(page, "causal").click()
    assert page.evaluate("globalThis.saved.at(-1).causal") is True
    page.evaluate("globalThis.undo()")
    assert page.locator("attention-playground").count() == 0
