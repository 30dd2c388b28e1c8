"""Where the functions of a file are, by lines; also in a file that does not parse."""

from __future__ import annotations

import ast
import re
from collections.abc import Mapping, Sequence

from autograder import trees

Spans = Mapping[str, Sequence[tuple[int, int]]]
# At the left margin: what ends a definition, and what a definition is named by.
_ENDS = re.compile(
    r"(?!(?:return|yield|else|elif|except|finally|break|continue|pass)\b)"  # a body that is not indented
    r"(?:@|(?:async[ \t]+)?def\b|class\b|(?:import|from|if|for|while|with|try)\b|[A-Za-z_]\w*[ \t]*[=:.(])"
)
_NAMED = re.compile(r"def[ \t]+(\w+)")


def function_spans(lines: list[str]) -> Spans:
    """First and last line of every top-level function, by name; a stub's trailing comments belong to it.

    Lines count from 1, and decorators belong to their function.  A function that is defined again has several spans.
    Where the text does not parse, functions are told apart by the lines at the left margin.
    """
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
    """For a text that does not parse: a function ends where something else begins at the left margin."""
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
