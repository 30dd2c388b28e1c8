"""The playground as a notebook's widget: anywidget's own description of it, driven in Chromium, read from Python."""

from __future__ import annotations

import importlib.util
import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from tests.browser.conftest import Open
from tests.browser.reading import oracle

pytestmark = pytest.mark.site
FOLDER = Path(__file__).parents[2] / "course" / "playground"


@pytest.fixture
def module() -> ModuleType:
    spec = importlib.util.spec_from_file_location("attention_playground", FOLDER / "attention_playground.py")
    assert spec is not None
    assert spec.loader is not None
    made = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(made)
    return made


@pytest.fixture
def widget(module: ModuleType) -> Iterator[Any]:
    """Without a kernel: its comm goes nowhere, its traits are real."""
    pytest.importorskip("anywidget", reason="anywidget is not installed; `make test-site` installs it")
    made = module.playground(preset="ragged", view="online")
    yield made
    made.close()


def test_anywidget_is_given_the_pages_own_module(widget: Any) -> None:
    state = widget.get_state()
    assert state["_esm"] == (FOLDER / "attention-playground.js").read_text(encoding="utf-8")
    assert (state["preset"], state["view"], state["state"]) == ("ragged", "online", {})


def test_what_is_changed_in_the_browser_is_read_in_python(open_page: Open, widget: Any) -> None:
    """The front end's side of anywidget's contract, `default.render({ model, el })`, with real traits behind it."""
    page = open_page("surgery-map.html")
    page.expose_function("traitSet", lambda name, value: setattr(widget, name, value))
    page.evaluate(
        "traits => { globalThis.traits = traits; }", {n: getattr(widget, n) for n in ("preset", "view", "state")}
    )
    host = """
    const model = { get: (name) => globalThis.traits[name],
                    set: (name, value) => { globalThis.traits[name] = value; globalThis.waiting = [name, value]; },
                    save_changes: () => globalThis.traitSet(...globalThis.waiting) };
    const loaded = await import(URL.createObjectURL(new Blob([globalThis.esm], { type: "text/javascript" })));
    globalThis.undo = loaded.default.render({ model, el: document.querySelector("main article") });
    """
    page.evaluate("source => { globalThis.esm = source; }", widget.get_state()["_esm"])
    page.evaluate(f"(async () => {{ {host} }})()")
    part = page.locator("attention-playground [data-focus=causal]")
    part.click()
    page.wait_for_function("globalThis.waiting !== undefined")
    assert widget.state["causal"] is True
    tokens = len(widget.state["q"])
    assert oracle(dict(widget.state))["o"].shape == (tokens, 2)
    page.evaluate("globalThis.undo()")
    assert page.locator("attention-playground").count() == 0


def test_without_anywidget_the_module_is_put_into_the_page(
    open_page: Open, module: ModuleType, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("IPython", reason="IPython is not installed")
    monkeypatch.setitem(sys.modules, "anywidget", None)
    text = module.playground(preset="far").data
    page = open_page("surgery-map.html")
    page.evaluate(
        "text => document.querySelector('main article').append(document.createRange().createContextualFragment(text))",
        text,
    )
    chosen = page.locator("attention-playground [data-focus=preset-far][aria-pressed=true]")
    chosen.wait_for()


def test_a_word_that_the_playground_does_not_know_is_named(module: ModuleType) -> None:
    with pytest.raises(TypeError, match="knows no colour"):
        module.playground(colour="blue")
