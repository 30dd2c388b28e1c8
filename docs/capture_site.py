"""Take pictures of the built pages, light and dark: `python docs/capture_site.py [--all DIR]` after `make site`.

Without --all the two pictures that the README shows are written, docs/site/lesson7.png and docs/site/playground.png,
each with its dark sister.  With it, whole pages go to DIR, to be looked at.
"""

from __future__ import annotations

import argparse
import shutil
import sys
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
PAGES = ROOT / "build" / "site" / "html"
THEMES = ("light", "dark")


def main() -> int:
    from playwright.sync_api import sync_playwright

    parser = argparse.ArgumentParser(description="Take pictures of the built pages.")
    parser.add_argument("--all", type=Path, metavar="DIR", help="whole pages, wide and narrow, into this folder")
    options = parser.parse_args()
    chromium = shutil.which("chromium")
    if chromium is None or not (PAGES / "index.html").is_file():
        print("This needs Debian's chromium and the built pages: apt-get install chromium, make site.", file=sys.stderr)
        return 2
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=chromium, args=["--no-sandbox"])
        if options.all:
            options.all.mkdir(parents=True, exist_ok=True)
            whole_pages(browser, options.all)
        else:
            readme_pictures(browser)
        browser.close()
    return 0


def open_page(browser: Any, name: str, theme: str, width: int, height: int) -> Any:
    context = browser.new_context(
        viewport={"width": width, "height": height}, color_scheme=theme, offline=True, reduced_motion="reduce"
    )
    page = context.new_page()
    page.goto((PAGES / name).as_uri())
    page.evaluate("document.fonts.ready")
    return page


def whole_pages(browser: Any, folder: Path) -> None:
    lessons = sorted(f"lessons/{path.stem}" for path in (PAGES / "lessons").glob("lesson*.html"))
    homework = sorted(path.relative_to(PAGES).with_suffix("").as_posix() for path in PAGES.glob("homework/*/*.html"))
    names = ("index", *lessons, "playground", "surgery-map", homework[0], homework[-1])
    for name in names:
        for theme, width in (("light", 1280), ("dark", 1280), ("light", 390)):
            page = open_page(browser, f"{name}.html", theme, width, 900)
            path = folder / f"{name.replace('/', '-')}-{theme}-{width}.png"
            page.screenshot(path=path, full_page=True)
            page.context.close()


def readme_pictures(browser: Any) -> None:
    folder = ROOT / "docs" / "site"
    folder.mkdir(exist_ok=True)
    for theme in THEMES:
        ending = "" if theme == "light" else "-dark"
        page = open_page(browser, "lessons/lesson7.html", theme, 1280, 900)
        page.locator("#part-a-attention-in-one-shot").scroll_into_view_if_needed()
        page.evaluate("document.querySelector('#part-a-attention-in-one-shot').scrollIntoView()")
        page.screenshot(path=folder / f"lesson7{ending}.png")
        page.context.close()
        page = open_page(browser, "playground.html", theme, 1280, 1300)
        playground = page.locator("attention-playground")
        playground.locator("[data-focus=preset-ragged]").click()
        playground.locator("[data-focus=cell-2-3]").click()
        page.mouse.move(0, 0)
        page.wait_for_timeout(500)  # the page moves a little after a click
        playground.screenshot(path=folder / f"playground{ending}.png", animations="disabled")
        page.context.close()


if __name__ == "__main__":
    sys.exit(main())
