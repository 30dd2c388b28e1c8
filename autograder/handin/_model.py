"""What this room hands on: places, sources and the hand-in; and how it counts lines."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Mapping
from dataclasses import dataclass

# Python's tokenizer knows these three line ends only; str.splitlines also cuts at form feeds and U+2028.
_LINE_END = re.compile(r"\r\n|\r|\n")
_TOP_LEVEL_DEF = re.compile(r"(?:async[ \t]+)?def[ \t]+(\w+)")


@dataclass(frozen=True, slots=True)
class Place:
    """A stub file that is wanted, e.g. ``Place(7, "flash_attention.py")``; its folder is ``lesson7``."""

    lesson: int
    file: str

    def __str__(self) -> str:
        return f"lesson{self.lesson}/{self.file}"


@dataclass(frozen=True, slots=True)
class Source:
    """One file of the hand-in: its text, or the reason why there is none.

    ``path`` is relative to the hand-in and safe to print: ``lesson7/x.py``, ``hw.zip!lesson7/x.py``.
    ``line`` is where the problem is, when it has a line. ``cells`` holds the first line within ``text``
    of each code cell of a notebook; it is empty for a ``.py``.
    """

    path: str
    text: str | None
    problem: str | None
    line: int | None
    cells: tuple[int, ...] = ()

    def locate(self, line: int) -> str:
        """Where a line of ``text`` is for the student: ``line 12`` or ``cell 5, line 3``, both from 1."""
        if not self.cells:
            return f"line {line}"
        cell = max(1, bisect_right(self.cells, line))
        return f"cell {cell}, line {line - self.cells[cell - 1] + 1}"


@dataclass(frozen=True, slots=True)
class HandIn:
    """A source for each place that has one, and plain sentences about what was chosen or skipped."""

    origin: str
    sources: Mapping[Place, Source]
    notes: tuple[str, ...]


def split_lines(text: str) -> list[str]:
    r"""Physical lines as Python's parser counts them (``\n``, ``\r\n``, ``\r`` only), without their ends.

    As with ``str.splitlines``, a line end at the end of the text starts no further line.
    """
    lines = _LINE_END.split(text)
    return lines[:-1] if lines[-1] == "" else lines


def defined_names(text: str) -> frozenset[str]:
    """The functions defined at top level, by a scan of lines: the text need not parse."""
    matches = (_TOP_LEVEL_DEF.match(line) for line in split_lines(text))
    return frozenset(match[1] for match in matches if match)
