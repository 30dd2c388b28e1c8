"""The built pages: whole, local, small, and silent about solutions."""

from __future__ import annotations

import html
import re
from collections.abc import Iterator
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

import pytest

from autograder.catalogue import Course
from autograder.release.leaks import refuse_leaks
from autograder.release.stubs import generate_stubs
from tests.pages import built_pages

pytestmark = pytest.mark.site
_LARGEST = 300_000  # bytes of a page without its figures
_SVG = re.compile(r"<svg.*?</svg>", re.DOTALL)
_LOADS = {"src", "srcset", "href", "poster", "data", "action"}


@pytest.fixture(scope="module")
def pages(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return built_pages(tmp_path_factory)


def _html(pages: Path) -> Iterator[tuple[Path, str]]:
    found = sorted(path for path in pages.rglob("*.html") if "_static" not in path.parts)
    assert len(found) > 8
    for path in found:
        yield path, path.read_text(encoding="utf-8")


class _Page(HTMLParser):
    """The ids and elements of a page, and what it refers to, as (tag, attribute, address)."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.ids: set[str] = set()
        self.tags: set[str] = set()
        self.addresses: list[tuple[str, str, str]] = []
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.add(tag)
        for name, value in attrs:
            if name == "id" and value:
                self.ids.add(value)
            if name in _LOADS and value:
                self.addresses.append((tag, name, value))


def test_every_exercise_and_lesson_of_the_course_has_its_page(pages: Path, course: Course) -> None:
    for lesson in course.lessons:
        assert (pages / "lessons" / f"lesson{lesson.number}.html").is_file()
        for exercise in lesson.exercises:
            text = (pages / "homework" / f"lesson{lesson.number}" / f"{exercise.id}.html").read_text(encoding="utf-8")
            assert text.count("sd-dropdown") == 3
            assert exercise.title in html.unescape(text).replace("\N{RIGHT SINGLE QUOTATION MARK}", "'")


def test_the_stubs_to_download_are_those_of_the_course(pages: Path, course: Course) -> None:
    for stub, text in generate_stubs(course).items():
        assert (pages / "stubs" / stub).read_text(encoding="utf-8") == text


def test_the_pages_give_nothing_away(pages: Path, course: Course) -> None:
    """The leak check of `course release`, over what a student can read: all pages, as text and as source."""
    files = {}
    for path, text in _html(pages):
        name = path.relative_to(pages).as_posix()
        files[name] = text.encode()
        files[f"{name}.txt"] = _as_text(text).encode()
    for path in [*(pages / "stubs").rglob("*.py"), *(pages / "notebooks").rglob("*.ipynb")]:
        files[path.relative_to(pages).as_posix()] = path.read_bytes()
    refuse_leaks(course, files)


def test_the_leak_check_would_see_a_kernel_that_is_printed_whole(pages: Path, course: Course) -> None:
    from autograder.errors import LeakError
    from making.extension import _listing
    from making.listing import annotated, kernel_parts

    exercise = next(item for item in course.exercises if item.id == "flash_attention")
    solution = (course.root / "solutions" / exercise.stub).read_text(encoding="utf-8")
    parts = kernel_parts(solution, "flash_attention_kernel", "solution", reveal=True)
    page = _listing(annotated(parts, ()), exercise, "lessons/lesson7", "flash_attention_kernel", course)
    with pytest.raises(LeakError, match="lesson7"):
        refuse_leaks(course, {"lesson7.html.txt": _as_text(page).encode()})


def _as_text(page: str) -> str:
    """What a browser shows: lines of code are lines, and tags are gone."""
    page = re.sub(r"<(script|style)\b.*?</\1>", "", page, flags=re.DOTALL)
    page = re.sub(r"<(?:br|/?p|/?div|/?li|/?pre|/?td|/?h\d)\b[^>]*>", "\n", page)
    return html.unescape(re.sub(r"<[^>]+>", "", page))


def test_nothing_is_loaded_from_a_network(pages: Path) -> None:
    for path, text in _html(pages):
        for tag, name, address in _Page(text).addresses:
            if urlsplit(address).scheme in ("http", "https") or address.startswith("//"):
                assert (tag, name) == ("a", "href"), f"{path.name}: {tag} loads {address}"
    for path in pages.rglob("*.css"):
        for address in re.findall(r"url\(([^)]*)\)|@import\s+([^;]+)", path.read_text(encoding="utf-8")):
            assert not re.match(r"""["']?(?:https?:)?//""", "".join(address)), f"{path.name} loads {address}"


def test_links_lead_somewhere(pages: Path) -> None:
    ids = {path.resolve(): _Page(text) for path, text in _html(pages)}
    for path, page in ids.items():
        for tag, _, address in page.addresses:
            parts = urlsplit(address)
            if parts.scheme or parts.netloc or (tag == "form"):
                continue
            target = (path.parent / unquote(parts.path)).resolve() if parts.path else path
            assert target.exists(), f"{path.name}: {address}"
            if parts.fragment and target in ids and tag == "a":
                assert parts.fragment in ids[target].ids, f"{path.name}: {address}"


def test_code_in_hints_stays_code(pages: Path, course: Course) -> None:
    """What stands between < and > in a handout or a hint is a blank to fill in, and no element of the page."""
    shown = {f"h{n}" for n in (1, 2, 3)} | {
        "a",
        "article",
        "b",
        "br",
        "button",
        "div",
        "em",
        "li",
        "ol",
        "p",
        "section",
    }
    shown |= {"code", "pre", "small", "span", "strong", "sub", "sup", "ul", "dd", "dl", "dt", "details", "summary"}
    shown |= {"col", "colgroup", "table", "tbody", "td", "th", "thead", "tr", "img", "path", "svg"}
    for exercise in course.exercises:
        text = (pages / "homework" / f"lesson{exercise.lesson}" / f"{exercise.id}.html").read_text(encoding="utf-8")
        article = _Page(text[text.index("<article") : text.index("</article>")])
        assert article.tags <= shown, f"{exercise.id}: {article.tags - shown}"
        assert "i" not in article.tags or exercise.hints.read_text(encoding="utf-8").count("<i>") == 0


def test_formulas_are_rendered_and_need_no_script(pages: Path) -> None:
    lesson = (pages / "lessons" / "lesson7.html").read_text(encoding="utf-8")
    assert lesson.count('class="katex"') > 20
    for path, text in _html(pages):
        assert "katex-error" not in text, path.name
        assert not re.search(r"<script[^>]*(?:katex|mathjax)", text, re.IGNORECASE), path.name


def test_pages_are_small(pages: Path) -> None:
    for path, text in _html(pages):
        assert len(_SVG.sub("", text).encode()) < _LARGEST, path.name


def test_pages_open_from_a_folder(pages: Path) -> None:
    """Browsers load no modules and fetch no files from file:// addresses."""
    for path, text in _html(pages):
        assert not re.search(r'<script[^>]*type="module"', text), path.name
    script = (pages / "_static" / "attention-playground.js").read_text(encoding="utf-8")
    assert not re.search(r"^\s*(?:export|import)\b", script, re.MULTILINE)
