"""A kernel as the lessons print it: the lines that are homework are blanks until the course reveals them."""

from __future__ import annotations

import ast
import re
import textwrap
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime

from autograder.catalogue import Course, Lesson
from autograder.release.markers import BEGIN, END, make_stub

_WIDTH = 84  # characters, so that code fits beside a table of contents
_STUB_LINE = re.compile(r"^\s*#: ?(?:# TODO: )?(.*)$")


@dataclass(frozen=True, slots=True)
class Part:
    """Consecutive lines of a kernel: given ones, or one homework region.

    ``lines`` are what is printed, ``asked`` says what a blank asks for; a region that is revealed has both.
    """

    lines: tuple[str, ...]
    asked: tuple[str, ...] = ()


def revealed(course: Course, lesson: Lesson, now: datetime | None = None) -> bool:
    """Whether the pages print this lesson's solutions."""
    if course.reveal == "deadline":
        return lesson.deadline is not None and (now or datetime.now(UTC)) > lesson.deadline
    return course.reveal == "always"


def kernel_parts(solution: str, function: str, name: str, reveal: bool) -> tuple[Part, ...]:
    """A function of a solution's text as it is printed, without its docstring.

    Raises:
        ValueError: there is no such function.
        MarkerError: the solution's markers are wrong.
    """
    make_stub(solution, name)  # raises what is wrong with the markers
    node = next(
        (item for item in ast.parse(solution).body if isinstance(item, ast.FunctionDef) and item.name == function), None
    )
    if node is None:
        raise ValueError(f"{name} has no function {function}.")
    skipped = range(0)
    if ast.get_docstring(node) is not None:
        skipped = range(node.body[0].lineno, (node.body[0].end_lineno or 0) + 1)
    body = node.body[0].lineno
    first = min([node.lineno, *(item.lineno for item in node.decorator_list)])
    parts: list[Part] = []
    given: list[str] = []
    hidden: list[str] = []
    asked: list[str] = []
    inside = False
    lines = solution.split("\n")
    for number in range(first, len(lines) + 1):
        line = lines[number - 1]
        if number > (node.end_lineno or 0) and not inside and line.strip() != END:
            break
        if line.strip() == BEGIN:
            if given:
                parts.append(Part(tuple(given)))
            given, inside = [], True
        elif line.strip() == END:
            parts.append(Part(tuple(hidden) if reveal else (), tuple(asked)))
            hidden, asked, inside = [], [], False
        elif inside and (match := _STUB_LINE.match(line)):
            asked.append(match[1])
        elif inside:
            hidden.append(line)
        elif number not in skipped:
            given.append(line)
        if number == body - 1:
            given = _narrow(given)
    if given:
        parts.append(Part(tuple(given)))
    return tuple(parts)


def whole_kernel(text: str, function: str, name: str) -> Part:
    """A function of an experiment's text, printed whole, with its decorators; ``name`` is for error messages.

    Raises:
        ValueError: there is no such function.
    """
    node = next(
        (item for item in ast.parse(text).body if isinstance(item, ast.FunctionDef) and item.name == function), None
    )
    if node is None:
        raise ValueError(f"{name} has no function {function}.")
    first = min([node.lineno, *(item.lineno for item in node.decorator_list)])
    lines, body = text.split("\n"), node.body[0].lineno
    return Part((*_narrow(lines[first - 1 : body - 1]), *lines[body - 1 : node.end_lineno]))


def _narrow(head: list[str]) -> list[str]:
    """A signature with one parameter a line, with as many on a line as there is room for."""
    if head and len(head[-1]) > _WIDTH and head[-1].startswith("def ") and head[-1].endswith("):"):
        begin, _, rest = head[-1].removesuffix("):").partition("(")
        head = [*head[:-1], f"{begin}(", rest, "):"]
    opening = next((place for place, line in enumerate(head) if line.startswith("def ")), 0)
    if not head or not head[opening].endswith("(") or head[-1] != "):":
        return head
    # a parameter and its annotation stay together
    parameters = " ".join(line.strip().replace(": ", ":\0") for line in head[opening + 1 : -1])
    indent = " " * 4
    wrapped = textwrap.wrap(parameters, _WIDTH, initial_indent=indent, subsequent_indent=indent, break_long_words=False)
    return [*head[: opening + 1], *(line.replace("\0", " ") for line in wrapped), head[-1]]


@dataclass(frozen=True, slots=True)
class Note:
    """Beside the first line with ``anchor`` in it, or beside ``blank 2``: the lessons it comes from, and words."""

    anchor: str
    lessons: tuple[int, ...]
    words: str


@dataclass(frozen=True, slots=True)
class Row:
    """What stands together in print: a note, if any, above lines or a blank."""

    note: Note | None
    part: Part


def annotated(parts: Sequence[Part], notes: Sequence[Note]) -> tuple[Row, ...]:
    """The parts, cut where a note stands.

    Raises:
        ValueError: a note's anchor is nowhere.
    """
    left = list(notes)
    rows: list[Row] = []
    blank = 0
    for part in parts:
        if part.asked:
            blank += 1
            note = _take(left, lambda note, name=f"blank {blank}": note.anchor == name)
            rows.append(Row(note, part))
            continue
        held: list[str] = []
        current: Note | None = None
        for line in part.lines:
            note = _take(left, lambda note, line=line: note.anchor in line)
            if note is not None:
                if held:
                    rows.append(Row(current, Part(tuple(held))))
                held, current = [], note
            held.append(line)
        rows.append(Row(current, Part(tuple(held))))
    if left:
        raise ValueError(f"No line of the kernel has {left[0].anchor!r} in it.")
    return tuple(rows)


def _take(notes: list[Note], fits) -> Note | None:  # type: ignore[no-untyped-def]
    found = next((note for note in notes if fits(note)), None)
    if found is not None:
        notes.remove(found)
    return found
