"""Sentences on a console, wrapped to its width."""

from __future__ import annotations

import textwrap
from collections.abc import Sequence

from rich.console import Console
from rich.text import Text


def say(console: Console, text: str, indent: int = 0, style: str = "", hanging: int = 0) -> None:
    """Print text ``indent`` blanks in, and ``hanging`` more from its second line on; a word too long is left whole."""
    lines = textwrap.wrap(
        text,
        console.width,
        initial_indent=" " * indent,
        subsequent_indent=" " * (indent + hanging),
        break_long_words=False,
        break_on_hyphens=False,
    )
    for line in lines:
        console.print(Text(line, style=style), soft_wrap=True)


def listed(names: Sequence[str]) -> str:
    """``a``, ``a and b``, ``a, b and c``."""
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}"
