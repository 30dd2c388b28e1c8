"""Sentences on a terminal are wrapped to its width; anywhere else each is one line, for scripts to search."""

from __future__ import annotations

import os
import sys
import textwrap
from typing import TextIO

import click

_WIDTH = 80  # of a terminal that does not say
_WIDEST = 100  # longer lines are hard to read


def say(text: str, err: bool = False) -> None:
    """Print a sentence or two; what follows the first line on a terminal is indented."""
    width = _width(sys.stderr if err else sys.stdout)
    if width is not None:
        text = "\n".join("\n".join(lines_of(line, width, hanging=2)) for line in text.split("\n"))
    click.echo(text, err=err)


def lines_of(text: str, width: int, indent: int = 0, hanging: int = 0) -> list[str]:
    """Text in lines of ``width``, and ``hanging`` more blanks before all but the first; a path stays in one piece."""
    return textwrap.wrap(
        text,
        width,
        initial_indent=" " * indent,
        subsequent_indent=" " * (indent + hanging),
        break_long_words=False,
        break_on_hyphens=False,
    )


def _width(stream: TextIO) -> int | None:
    """The columns of a terminal; None if it is none."""
    if not stream.isatty():
        return None
    try:
        columns = os.get_terminal_size(stream.fileno()).columns
    except OSError:
        columns = 0
    return min(columns or _WIDTH, _WIDEST)
