"""The solution markers: what is cut out of a solution, and what stands in its place in the stub.

A region runs from ``### BEGIN SOLUTION`` to ``### END SOLUTION``.  Its lines that begin with ``#:`` are the stub's
text, without that prefix; all its other lines are the solution's, and never leave the instructor's machine.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from autograder.errors import CourseError

BEGIN = "### BEGIN SOLUTION"
END = "### END SOLUTION"
_STUB_LINE = re.compile(r"^(\s*)#: ?(.*)$")


@dataclass(frozen=True, slots=True)
class Region:
    """One solution region: its first and last line (1-based, the markers'), and the hidden lines in between."""

    first: int
    last: int
    hidden: tuple[str, ...]


def make_stub(solution: str, name: str) -> str:
    """The stub for a solution's text; ``name`` is for error messages.

    Raises:
        CourseError: markers do not pair up, or a region has no stub line to say what is missing.
    """
    lines: list[str] = []
    for _, line, inside in _walk(solution, name):
        if inside is None:
            lines.append(line)
        elif inside and (match := _STUB_LINE.match(line)):
            lines.append((match[1] + match[2]).rstrip())
    for region in find_regions(solution, name):
        region_lines = solution.split("\n")[region.first : region.last - 1]
        if not any(_STUB_LINE.match(line) for line in region_lines):
            raise CourseError(f"{name}, line {region.first}: the region has no '#: # TODO' line for the stub.")
    return "\n".join(lines)


def find_regions(solution: str, name: str) -> tuple[Region, ...]:
    """All solution regions of a text.

    Raises:
        CourseError: markers do not pair up.
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


def _walk(solution: str, name: str) -> list[tuple[int, str, bool | None]]:
    """(line number, line, where): None outside, True inside a region, False for a marker itself."""
    walked: list[tuple[int, str, bool | None]] = []
    begun = 0
    for number, line in enumerate(solution.split("\n"), 1):
        marker = line.strip()
        if marker == BEGIN:
            if begun:
                raise CourseError(f"{name}, line {number}: a region begins inside the one of line {begun}.")
            begun = number
            walked.append((number, line, False))
        elif marker == END:
            if not begun:
                raise CourseError(f"{name}, line {number}: a region ends that never began.")
            begun = 0
            walked.append((number, line, False))
        else:
            walked.append((number, line, True if begun else None))
    if begun:
        raise CourseError(f"{name}, line {begun}: this region never ends.")
    return walked
