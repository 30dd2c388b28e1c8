"""Put an exercise back to its stub, function by function, so that other work in the same file stays."""

from __future__ import annotations

import ast
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from autograder import trees
from autograder.catalogue import Course, Exercise
from autograder.errors import UsageError
from autograder.handin import read_text, split_lines
from autograder.release.files import copy_aside, write_whole
from autograder.release.stubs import pristine_stubs

Spans = Mapping[str, Sequence[tuple[int, int]]]
# At the left margin: what ends a definition, and what a definition is named by.
_ENDS = re.compile(
    r"(?!(?:return|yield|else|elif|except|finally|break|continue|pass)\b)"  # a body that is not indented
    r"(?:@|(?:async[ \t]+)?def\b|class\b|(?:import|from|if|for|while|with|try)\b|[A-Za-z_]\w*[ \t]*[=:.(])"
)
_NAMED = re.compile(r"def[ \t]+(\w+)")


@dataclass(frozen=True, slots=True)
class Reset:
    """What was done: the copy that was made of the file, if any, and whether the stub was written whole."""

    copy: Path | None
    whole: bool


def is_reset_whole(path: Path) -> bool:
    """Whether nothing of the file at ``path`` can be kept, so that the whole stub takes its place.

    So it is where no file is, and where its bytes are no text.

    Raises:
        UsageError: what is there is no ordinary file, or cannot be read.
    """
    return _read(path) is None


def reset_exercise(course: Course, exercise: Exercise, path: Path) -> Reset:
    """Replace the exercise's functions in ``path`` by the stub's, or write the whole stub (see `is_reset_whole`).

    Where the file does not parse, its functions are told apart by the lines at the left margin.

    Raises:
        UsageError: what is there is no ordinary file, or cannot be read or written.
    """
    pristine = pristine_stubs(course)[exercise.stub]
    text = _read(path)
    lines = split_lines(text) if text is not None else None
    names = [function.name for function in exercise.functions]
    updated = _replaced(lines, split_lines(pristine), names) if lines is not None else split_lines(pristine)
    if updated == lines:
        return Reset(None, False)
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        copy = copy_aside(path) if path.exists() else None
    except OSError as error:
        reason = (error.strerror or str(error)).lower()
        raise UsageError(f"Nothing can be written beside {path} ({reason}), so nothing was changed.") from error
    write_whole(path, ("\n".join(updated) + "\n").encode())
    return Reset(copy, lines is None)


def _read(path: Path) -> str | None:
    """The file's text; None if there is no file, or no text in it."""
    if not path.exists():
        return None
    if not path.is_file():
        raise UsageError(f"{path} is no ordinary file. Move it away and reset again.")
    try:
        return read_text(path.read_bytes())
    except OSError as error:
        raise UsageError(f"{path} cannot be read ({(error.strerror or str(error)).lower()}).") from error


def _replaced(lines: list[str], stub_lines: list[str], names: list[str]) -> list[str]:
    spans, stub_spans = _spans(lines), _spans(stub_lines)
    edits: list[tuple[int, int, list[str]]] = []
    for name in names:
        first, last = stub_spans[name][-1]
        fresh = stub_lines[first - 1 : last]
        places = spans.get(name, [])
        if not places:
            edits.append((len(lines) + 1, len(lines), ["", "", *fresh]))
        for number, (start, end) in enumerate(places):  # of several definitions the last counts: keep only one
            edits.append((start, end, fresh if number == len(places) - 1 else []))
    updated = list(lines)
    for start, end, fresh in sorted(edits, reverse=True):
        updated[start - 1 : end] = fresh
    return updated


def _spans(lines: list[str]) -> Spans:
    """First and last line of every top-level function, by name; a stub's trailing comments belong to it."""
    try:
        body = trees.parse("\n".join(lines)).body
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return _spans_at_the_margin(lines)
    spans: dict[str, list[tuple[int, int]]] = {}
    for node in body:
        if isinstance(node, ast.FunctionDef):
            first = min([node.lineno, *(decorator.lineno for decorator in node.decorator_list)])
            last = node.end_lineno or node.lineno
            while last < len(lines) and lines[last].startswith((" ", "\t")) and lines[last].strip().startswith("#"):
                last += 1
            spans.setdefault(node.name, []).append((first, last))
    return spans


def _spans_at_the_margin(lines: list[str]) -> Spans:
    """As `_spans`, for a text that does not parse: a function ends where something else begins at the left margin."""
    spans: dict[str, list[tuple[int, int]]] = {}
    place = 0
    while place < len(lines):
        first = place
        while place < len(lines) and lines[place].startswith("@"):
            place += 1
        named = _NAMED.match(lines[place]) if place < len(lines) else None
        if named is None:
            place = max(place, first + 1)
            continue
        place += 1
        while place < len(lines) and not _ENDS.match(lines[place]):
            place += 1
        last = place
        while last > first + 1 and (not lines[last - 1].strip() or lines[last - 1].startswith("#")):
            last -= 1
        spans.setdefault(named[1], []).append((first + 1, last))
    return spans
