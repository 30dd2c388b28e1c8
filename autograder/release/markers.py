"""The solution markers: what is cut out of a solution, and what stands in its place in the stub.

A region runs from ``### BEGIN SOLUTION`` to ``### END SOLUTION``.  Its lines that begin with ``#:`` are the stub's
text, without that prefix; all its other lines are the solution's, and never leave the instructor's machine.

What lies outside the regions is handed out as it is.  A marker that is missing or misspelt would hand out a solution,
so every trace of one is an error: a stub line outside a region, a marker in another spelling, and a function that
students are to write and that no region is in.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from autograder import trees
from autograder.errors import MarkerError

BEGIN = "### BEGIN SOLUTION"
END = "### END SOLUTION"
_STUB_LINE = re.compile(r"^(\s*)#: ?(.*)$")
_MISSPELT = re.compile(r"\s*#+[\s#:]*(?:BEGIN|END)[\s_-]*SOLUTIONS?\b", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Region:
    """One solution region: its first and last line (1-based, the markers'), and the hidden lines in between."""

    first: int
    last: int
    hidden: tuple[str, ...]


def make_stub(solution: str, name: str) -> str:
    """The stub for a solution's text; ``name`` is for error messages.

    Raises:
        MarkerError: markers do not pair up or are misspelt, a region has no stub line to say what is missing, or a
            stub line stands outside the regions.
    """
    lines: list[str] = []
    for number, line, inside in _walk(solution, name):
        if inside is None:
            _refuse_trace(line, f"{name}, line {number}")
            lines.append(line)
        elif inside and (match := _STUB_LINE.match(line)):
            lines.append((match[1] + match[2]).rstrip())
    for region in find_regions(solution, name):
        region_lines = solution.split("\n")[region.first : region.last - 1]
        if not any(_STUB_LINE.match(line) for line in region_lines):
            raise MarkerError(f"{name}, line {region.first}: the region has no '#: # TODO' line for the stub.")
    return "\n".join(lines)


def find_regions(solution: str, name: str) -> tuple[Region, ...]:
    """All solution regions of a text.

    Raises:
        MarkerError: markers do not pair up.
    """
    regions: list[Region] = []
    first = 0
    hidden: list[str] = []
    for number, line, inside in _walk(solution, name):
        if inside is False and line.strip() == BEGIN:
            first, hidden = number, []
        elif inside is False:
            regions.append(Region(first, number, tuple(hidden)))
        elif inside and not _STUB_LINE.match(line):
            hidden.append(line)
    return tuple(regions)


def stub_lines_first(solution: str, name: str) -> str:
    """A solution's text with each region's stub lines before it, as the stub has them: what is left of it without the
    regions is the stub.

    Raises:
        MarkerError: markers do not pair up.
    """
    lines: list[str] = []
    begun = 0
    for _, line, inside in _walk(solution, name):
        if inside and (match := _STUB_LINE.match(line)):
            lines.insert(begun, (match[1] + match[2]).rstrip())
            begun += 1
            continue
        if inside is False and line.strip() == BEGIN:
            begun = len(lines)
        lines.append(line)
    return "\n".join(lines)


def refuse_given_away(solution: str, stub: str, functions: Iterable[str], name: str) -> None:
    """Refuse a stub in which one of the ``functions`` that students are to write is as in its solution.

    Raises:
        MarkerError: a definition of one has no region in it or the same syntax tree as in the stub, or the solution
            does not parse, so that this cannot be told.
    """
    try:
        written = trees.parse(solution).body
    except (SyntaxError, ValueError) as error:
        line = getattr(error, "lineno", None)
        where = f"{name}, line {line}" if line else name
        raise MarkerError(f"{where}: the solution does not parse, so what its stub shows cannot be told.") from error
    wanted = set(functions)
    given = {ast.dump(node) for node in _definitions(_parsed(stub))}
    regions = find_regions(solution, name)
    for node in _definitions(written):
        if node.name not in wanted:
            continue
        where = f"{name}, line {node.lineno}"
        if not any(node.lineno <= region.last and region.first <= (node.end_lineno or 0) for region in regions):
            raise MarkerError(
                f"{where}: {node.name} has no solution region, so that its stub would be its solution. Put {BEGIN} and "
                f"{END} around what students are to write."
            )
        if ast.dump(node) in given:
            raise MarkerError(
                f"{where}: {node.name} is the same in the stub as in the solution. Put what students are to write "
                f"between {BEGIN} and {END}."
            )


def _parsed(stub: str) -> list[ast.stmt]:
    try:
        return trees.parse(stub).body
    except (SyntaxError, ValueError):
        return []  # a stub may be one that has to be mended first


def _definitions(body: list[ast.stmt]) -> Iterator[ast.FunctionDef | ast.AsyncFunctionDef]:
    return (node for node in body if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)))


def _refuse_trace(line: str, where: str) -> None:
    """Refuse what stands outside the regions only where a marker is missing or misspelt."""
    if _MISSPELT.match(line):
        raise MarkerError(f"{where}: {line.strip()!r} is no marker. They are spelt {BEGIN} and {END}.")
    if _STUB_LINE.match(line):
        raise MarkerError(
            f"{where}: a '#:' line stands outside the solution regions. Put {BEGIN} before it and {END} behind what "
            "students are to write."
        )


def _walk(solution: str, name: str) -> list[tuple[int, str, bool | None]]:
    """(line number, line, where): None outside, True inside a region, False for a marker itself."""
    walked: list[tuple[int, str, bool | None]] = []
    begun = 0
    for number, line in enumerate(solution.split("\n"), 1):
        marker = line.strip()
        if marker == BEGIN:
            if begun:
                raise MarkerError(f"{name}, line {number}: a region begins inside the one of line {begun}.")
            begun = number
            walked.append((number, line, False))
        elif marker == END:
            if not begun:
                raise MarkerError(f"{name}, line {number}: a region ends that never began.")
            begun = 0
            walked.append((number, line, False))
        else:
            walked.append((number, line, True if begun else None))
    if begun:
        raise MarkerError(f"{name}, line {begun}: this region never ends.")
    return walked
