"""The leak check: a release that would show a solution, a hidden case or the secret is refused.

Every file is taken apart to the texts in it: zips and wheels to any depth, notebook cells and outputs, strings in
JSON, TOML and Python, code in Markdown, comments.  In each text four things are looked for.

* Syntax.  Half a solution region or more, as consecutive statements; shorter runs of two or more statements and
  single expressions, if they say enough (see the thresholds in ``_hidden``) and the course does not show them anyway
  in a harness or a stub; and regions whose statements are nearly all there, in whatever order.  Layout and the names
  of variables play no part.
* Text.  Hidden lines and comments, without blanks, for what does not parse.
* Hidden cases, by id, by sentence and by values, and the solution markers.
* The secret, in its usual spellings, in the bytes of every file.

Wrong kernels, tests and solutions are also refused by their paths, and so is what cannot be looked into.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import PurePosixPath
from typing import Any

from autograder.catalogue import Course
from autograder.errors import LeakError
from autograder.release import _hidden
from autograder.release._hidden import Hidden, statement_keys, windows_of
from autograder.release._members import Piece, Unreadable, mappings, members, pieces
from autograder.release._syntax import Line, expressions, head, key, statement_lists, weight

_BETWEEN = re.compile(rb"(?:\\[nrt]|[^0-9A-Za-z+/_-])+")
_FORBIDDEN = frozenset({"solutions", "hidden.toml", ".secret", "tests", "mistakes", "__pycache__"})
_MARKER = re.compile(rf"^[\s#>|*+-]*(?:{'|'.join(map(re.escape, _hidden.MARKERS))})\s*$", re.MULTILINE)
_LINE_PREFIX = re.compile(r"^[\s#>|*+:.-]+")
_GROUP = re.compile(r"[({][^(){}]{8,2000}[)}]", re.DOTALL)
_PAIR = re.compile(r"(\w+)[\"']?\s*[=:|]\s*[\"']?(-?[\w.]+(?:e[+-]?\d+)?)")
_PAIRED = frozenset("=:|")  # one of them stands in every pair
_WORD = re.compile(r"\w+")
_ID = re.compile(r"\bid[\"']?\s*[=:]\s*[\"']([\w-]+)[\"']")
_MAX_SHOWN = 3


@dataclass(frozen=True, slots=True)
class Leak:
    """One thing that a release would give away: where it stands, and what it is."""

    place: str
    what: str

    def __str__(self) -> str:
        return f"{self.place} shows {self.what}"


def refuse_leaks(course: Course, files: Mapping[str, bytes]) -> None:
    """Look through every file of a release, by its path in it.

    Raises:
        LeakError: something would leak; the sentence names file and place.
        CourseError: a solution or hidden.toml is malformed.
    """
    leaks = list(find_leaks(_hidden.load(course), files))
    if not leaks:
        return
    shown = "; ".join(str(leak) for leak in leaks[:_MAX_SHOWN])
    more = f"; and {len(leaks) - _MAX_SHOWN} more" if len(leaks) > _MAX_SHOWN else ""
    raise LeakError(f"This release would give something away: {shown}{more}. Nothing was released.")


def find_leaks(hidden: Hidden, files: Mapping[str, bytes]) -> Iterator[Leak]:
    """Every leak in ``files``, each place and thing once."""
    seen: set[Leak] = set()
    for name, data in files.items():
        try:
            for member, content in members(name, data):
                for leak in _leaks_of_member(hidden, member, content):
                    if leak not in seen:
                        seen.add(leak)
                        yield leak
        except Unreadable as unreadable:
            yield Leak(name, f"what cannot be checked: {unreadable}")


def _leaks_of_member(hidden: Hidden, name: str, data: bytes) -> Iterator[Leak]:
    inner = PurePosixPath(name.rpartition("!")[2])
    if found := _FORBIDDEN.intersection(part.lower() for part in inner.parts):
        yield Leak(name, f"a place that is not released ({sorted(found)[0]})")
    if data in hidden.files:
        yield Leak(name, hidden.files[data])
    together = _BETWEEN.sub(b"", data)  # as it is where it was cut in two
    if any(secret in data or secret in together for secret in hidden.secrets):
        yield Leak(name, "the course's secret")
    for piece in pieces(name, data):
        yield from _leaks_of_piece(hidden, piece)
        for table in mappings(name, piece.text) if not piece.place else ():
            yield from _cases(hidden, table, name)


def _leaks_of_piece(hidden: Hidden, piece: Piece) -> Iterator[Leak]:
    found: dict[str, int] = {}
    for lines in statement_lists(piece.text):
        keys = statement_keys([line.node for line in lines], hidden.statements)
        yield from _syntax(hidden, piece, lines, keys)
        for line, item in zip(lines, keys, strict=True):
            if item is not None:
                found.setdefault(item, line.number)
    yield from _coverage(hidden, piece, found)
    yield from _text(hidden, piece)
    yield from _words(hidden, piece)


def _syntax(hidden: Hidden, piece: Piece, lines: list[Line], keys: Sequence[str | None]) -> Iterator[Leak]:
    for start, _, item in windows_of([line.node for line in lines], keys):
        if item in hidden.windows:
            yield Leak(piece.locate(lines[start].number), f"hidden statements of {hidden.windows[item]}")
    for line in lines:
        for part in expressions(line.node):  # statements within it come in lists of their own
            if head(part) not in hidden.expression_heads or weight(part) not in hidden.expression_weights:
                continue
            where = hidden.expressions.get(key([part]))
            if where is not None:
                number = line.number + part.lineno - line.node.lineno
                yield Leak(piece.locate(number), f"a hidden expression of {where}")


def _coverage(hidden: Hidden, piece: Piece, found: Mapping[str, int]) -> Iterator[Leak]:
    """Regions nearly all of whose statements are ``found`` in a text, with others between them or in another order."""
    for region in hidden.regions:
        there = [(size, item) for size, item in zip(region.weights, region.keys, strict=True) if item in found]
        covered = sum(size for size, _ in there)
        long = region.weight >= _hidden.MIN_COVERED and len(region.keys) >= _hidden.MIN_COVERED_STATEMENTS
        if long and covered >= _hidden.COVERED_SHARE * region.weight:
            first = min(found[item] for _, item in there)
            yield Leak(piece.locate(first), f"nearly all statements of {region.where}")


def _text(hidden: Hidden, piece: Piece) -> Iterator[Leak]:
    lines = [_hidden.squash(_LINE_PREFIX.sub("", line)) for line in piece.text.split("\n")]
    starts = [0]
    for line in lines:
        starts.append(starts[-1] + len(line))
    squashed = "".join(lines)
    for texts, what in ((hidden.texts, "a hidden line of "), (hidden.sentences, "")):
        for text, where in texts.items():
            place = squashed.find(text)
            if place >= 0:
                yield Leak(piece.locate(bisect_right(starts, place)), f"{what}{where}")


def _words(hidden: Hidden, piece: Piece) -> Iterator[Leak]:
    def line_of(position: int) -> str:
        return piece.locate(piece.text.count("\n", 0, position) + 1)

    # A marker by itself is only its name; it gives something away among the lines it marks.
    match = _MARKER.search(piece.text)
    if match and piece.text.strip() != match[0].strip():
        yield Leak(line_of(match.start()), "a solution marker")
    shown = set(_WORD.findall(piece.text))
    for word, where in hidden.words.items():
        if shown.issuperset(_parts(word)) and (match := re.search(rf"\b{re.escape(word)}\b", piece.text)):
            yield Leak(line_of(match.start()), where)
    ids: dict[str, int] = {}
    for named in _ID.finditer(piece.text):
        ids.setdefault(named[1], named.start())
    for word in sorted(hidden.quoted_words.keys() & ids.keys()):
        yield Leak(line_of(ids[word]), hidden.quoted_words[word])
    for group in _GROUP.finditer(piece.text):
        yield from _cases(hidden, dict(_PAIR.findall(group[0])), line_of(group.start()))
    for number, line in enumerate(piece.text.split("\n"), 1):
        if not _PAIRED.isdisjoint(line):
            yield from _cases(hidden, dict(_PAIR.findall(line)), piece.locate(number))


@lru_cache(maxsize=4096)
def _parts(word: str) -> frozenset[str]:
    return frozenset(_WORD.findall(word))


def _cases(hidden: Hidden, table: Mapping[str, Any], place: str) -> Iterator[Leak]:
    """Hidden cases all of whose values are in a table, whatever else is in it."""
    if len(table) < 2:
        return
    for case in hidden.cases:
        values = case.values
        if values.keys() <= table.keys() and all(_same(table[name], value) for name, value in values.items()):
            yield Leak(place, f"the values of {case.where}")


def _same(shown: Any, value: Any) -> bool:
    if isinstance(value, bool) or isinstance(shown, bool):
        return str(shown).lower() == str(value).lower()
    try:
        return float(shown) == float(value)
    except (TypeError, ValueError):
        return str(shown) == str(value)
