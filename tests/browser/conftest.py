"""A real Chromium without a network, and pages in it that must stay silent."""

from __future__ import annotations

import importlib.util
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.pages import built_pages

Open = Callable[..., Any]


@pytest.fixture(scope="session")
def pages(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return built_pages(tmp_path_factory)


@pytest.fixture(scope="session")
def browser() -> Iterator[Any]:
    if importlib.util.find_spec("playwright") is None:
        pytest.skip("playwright is not installed; `make test-site` installs it")
    chromium = shutil.which("chromium")
    if chromium is None:
        pytest.skip("there is no chromium (apt-get install chromium)")
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=chromium, args=["--no-sandbox"])
        yield browser
        browser.close()


@pytest.fixture
def open_page(browser: Any, pages: Path) -> Iterator[Open]:
    """Opens a built page from its folder, offline; afterwards no request may have left and no error been logged."""
    left: list[str] = []
    errors: list[str] = []
    contexts = []

    def watch(request: Any) -> None:
        if not request.url.startswith(("file://", "data:", "blob:")):
            left.append(request.url)

    def open_one(name: str, width: int = 1280, dark: bool = False, query: str = "") -> Any:
        context = browser.new_context(
            viewport={"width": width, "height": 900},
            color_scheme="dark" if dark else "light",
            reduced_motion="reduce",
            offline=True,
        )
        contexts.append(context)
        page = context.new_page()
        page.set_default_timeout(20_000)
        page.on("request", watch)
        page.on("console", lambda message: errors.append(message.text) if message.type == "error" else None)
        page.on("pageerror", lambda error: errors.append(str(error)))
        page.on("requestfailed", lambda request: errors.append(f"{request.url} failed"))
        page.goto((pages / name).as_uri() + (f"?{query}" if query else ""))
        return page

    yield open_one
    for context in contexts:
        context.close()
    assert left == []
    assert errors == []
