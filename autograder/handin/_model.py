"""What this room hands on: places, sources and the hand-in; and how it counts lines."""

from __future__ import annotations

import bisect
import contextlib
import functools
import re
import tokenize
from collections.abc import Collection, Mapping
from dataclasses import dataclass

# Python's tokenizer knows these three line ends only; str.splitlines also cuts at form feeds and U+2028.
_LINE_END = re.compile(r"\r\n|\r|\n")
_TOKENIZED = 200_000  # characters; tokens of more take long, and no honest file has as many
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
    of each code cell of a notebook, which need not stand in their order; it is empty for a ``.py``. ``answers`` are
    the numbers of the `%%exercise` cells, whose definitions count before those of other cells.
    """

    path: str
    text: str | None
    problem: str | None
    line: int | None
    cells: tuple[int, ...] = ()
    answers: frozenset[int] = frozenset()

    def locate(self, line: int) -> str:
        """Where a line of ``text`` is for the student: ``line 12`` or ``cell 5, line 3``, both from 1."""
        cell, line = self.place_of(line)
        return f"line {line}" if cell is None else f"cell {cell}, line {line}"

    def place_of(self, line: int) -> tuple[int | None, int]:
        """The code cell that a line of ``text`` is in, and the line in it; for a ``.py`` None and the line itself."""
        if not self.cells:
            return None, line
        cells = _by_line(self.cells)
        at = bisect.bisect_right(cells, line, key=lambda cell: cell[0]) - 1
        start, cell = cells[at] if at >= 0 else (self.cells[0], 1)
        return cell, line - start + 1


@functools.lru_cache(maxsize=16)
def _by_line(cells: tuple[int, ...]) -> tuple[tuple[int, int], ...]:
    """The first line and the number of each cell, as they lie in the text: thousands of lines may be looked up."""
    return tuple(sorted((start, number) for number, start in enumerate(cells, 1)))


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


def definitions(text: str) -> Mapping[str, tuple[int, ...]]:
    """The lines of the ``def`` of each function defined at top level, by a scan of lines: the text need not parse."""
    found: dict[str, list[int]] = {}
    for number, line in enumerate(split_lines(text), 1):
        if match := _TOP_LEVEL_DEF.match(line):
            found.setdefault(match[1], []).append(number)
    return {name: tuple(lines) for name, lines in found.items()}


def defined_again(text: str, names: Collection[str]) -> Mapping[str, tuple[int, ...]]:
    """The lines of every ``def`` of those of ``names`` that are defined more than once at top level."""
    several = {name: lines for name, lines in definitions(text).items() if name in names and len(lines) > 1}
    if not several:
        return {}
    quoted = _lines_in_strings(text)
    kept = {name: tuple(line for line in lines if line not in quoted) for name, lines in several.items()}
    return {name: lines for name, lines in kept.items() if len(lines) > 1}


def _lines_in_strings(text: str) -> frozenset[int]:
    """The lines that begin within a text in quotes, as far as the tokens of ``text`` can be read."""
    lines: set[int] = set()
    if len(text) > _TOKENIZED:
        return frozenset()
    rows = iter([f"{row}\n" for row in split_lines(text)])
    with contextlib.suppress(tokenize.TokenError, SyntaxError):
        for token in tokenize.generate_tokens(lambda: next(rows, "")):
            if token.type == tokenize.STRING:
                lines.update(range(token.start[0] + 1, token.end[0] + 1))
    return frozenset(lines)


def defined_names(text: str) -> frozenset[str]:
    """The functions defined at top level, as `definitions` finds them."""
    return frozenset(definitions(text))
