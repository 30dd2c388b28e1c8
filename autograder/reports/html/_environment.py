"""The template engine: everything is escaped, and nothing that is printed can reorder or hide text.

A template gets frozen views and prints them.  What is markup already (pictures) says so by its type.
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Any
from urllib.parse import quote

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup, escape

from autograder.protocol import printable
from autograder.reports.public_view import points_text, points_word

# Joiners are characters of Persian, of Indian scripts and of emoji; they reorder nothing.
_JOINERS = "\u200c\u200d"
_CODE = re.compile(r"`([^`\n]+)`")
# Numbers with a minus within or before them, and the options of commands.
_BREAKS = re.compile(r"(?<![\w.&;#-])-?\d[\d.]*e-\d+|(?<![\w.&;#-])-\d[\d.]*|(?<![\w-])--[a-z]+")


@lru_cache(maxsize=1)
def environment() -> Environment:
    """The one environment of all pages."""
    made = Environment(
        loader=PackageLoader("autograder.reports.html"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
        finalize=shown,
    )
    made.filters["points"] = points_text
    made.filters["points_word"] = points_word
    made.filters["encoded"] = encoded
    made.filters["prose"] = prose
    return made


def render(template: str, **values: Any) -> str:
    return environment().get_template(template).render(**values)


def shown(value: Any) -> Any:
    """What a template prints for ``value``: text without control, format and bidirectional override characters."""
    if isinstance(value, Markup) or not isinstance(value, str):
        return value
    if value.isascii():
        return printable(value)
    return "".join(character if character in _JOINERS else printable(character) for character in value)


def prose(text: str) -> Markup:
    """A sentence as markup: escaped, what stands between backticks set as code, and no number broken at its sign."""
    marked = _CODE.sub(r"<code>\1</code>", str(escape(shown(text))))
    return Markup(_BREAKS.sub(r'<span class="whole">\g<0></span>', marked))


def encoded(text: str) -> str:
    """``text`` as one part of a relative link; bytes that are no UTF-8 are those of the file's name."""
    return quote(text, safe="", errors="surrogateescape")


def inline_svg(svg: str) -> Markup:
    """A picture of our own making, to be put into a page as it is.

    Raises:
        ValueError: it is no SVG, or there is more in it than a picture.
    """
    start, end = svg.find("<svg"), svg.rfind("</svg>")
    lowered = svg.lower()
    if start < 0 or end < start or any(word in lowered for word in ("<script", "javascript:", "<foreignobject")):
        raise ValueError("a picture must be an <svg> without scripts")
    return Markup(svg[start : end + len("</svg>")])
