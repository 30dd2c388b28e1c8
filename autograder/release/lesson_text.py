"""A lesson's page as cells of a notebook: its Markdown without what only the pages' builder understands.

Pictures become what they say in words, printed kernels become code, and experiments become cells that run them, with
what they print kept as the cell's output.  The exercises of the lesson go where its page lists them.
"""

from __future__ import annotations

import ast
import re
import textwrap
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from autograder import trees
from autograder.catalogue import Course, Lesson
from autograder.errors import CourseError, UsageError
from autograder.release._ipynb import Cell

_FENCE = re.compile(r"^(?P<ticks>`{3,})(?P<head>[^\n`]*)\n(?P<body>.*?)^(?P=ticks)[ ]*$\n?", re.MULTILINE | re.DOTALL)
_DIRECTIVE = re.compile(r"\{([\w-]+)\}\s*(.*)")
_OPTION = re.compile(r"^:([\w-]+):[ ]*(.*)$")
_NUMBER = re.compile(r"\{n\}`\s*([^`<]*?)\s*<\w+>`")
_HOMEWORK = re.compile(r"\{homework\}`(\w+)`")
_LINK = re.compile(r"(?<!!)\[([^\]]+)\]\((?!https?:)[^)]*\)")
_ATTRIBUTES = re.compile(r"^\{[.#][\w-]+\}\n", re.MULTILINE)
_EXPERIMENT = re.compile(r"python (course/lessons/(experiments/\w+)\.py)")
_WIDTH = 96  # characters of a comment above a line of code
_PLAYGROUND = """\
sys.path.insert(0, "course/playground")
from attention_playground import playground

playground()"""


@dataclass(frozen=True, slots=True)
class LessonText:
    """A lesson's cells before its exercises and after them."""

    before: tuple[Cell, ...]
    after: tuple[Cell, ...]


def lesson_text(course: Course, lesson: Lesson) -> LessonText:
    """The cells of a lesson's page, which is ``course/lessons/lesson<N>.md``; none if there is no such page.

    Raises:
        CourseError: the page names a file, a function or a directive that there is not.
    """
    path = course.root / "course" / "lessons" / f"lesson{lesson.number}.md"
    if not path.is_file():
        return LessonText((), ())
    text = path.read_text(encoding="utf-8")
    title, _, body = text.partition("\n")
    if not title.startswith("# "):
        raise CourseError(f"{path} must begin with a heading: # and its title.")
    parts: list[list[Cell]] = [[]]
    for cell in _Reader(course, path.parent).cells(body):
        if cell is None:
            parts.append([])
        else:
            parts[-1].append(cell)
    after = [cell for part in parts[1:] for cell in part]
    return LessonText(tuple(parts[0]), tuple(after))


class _Reader:
    """Takes a page apart; None among the cells stands for the exercises."""

    def __init__(self, course: Course, folder: Path) -> None:
        self._course = course
        self._folder = folder

    def cells(self, body: str) -> Iterator[Cell | None]:
        """The page's cells; text between two cells of code is one cell."""
        held = ""
        pending: tuple[str, str] | None = None  # an experiment whose output the page shows next
        at = 0
        for fence in _FENCE.finditer(body):
            between = body[at : fence.start()]
            if pending and between.strip():
                yield Cell(False, *pending)
                pending = None
            held += self._plain(between)
            at = fence.end()
            head, inner = fence["head"].strip(), fence["body"]
            experiment = _EXPERIMENT.fullmatch(inner.strip())
            if experiment or head == "{playground}":
                if held.strip():
                    yield Cell(True, held.strip())
                held = ""
                if experiment:
                    pending = f"!{{sys.executable}} {experiment[1]}", ""
                else:
                    yield Cell(False, _PLAYGROUND)
                continue
            directive = _DIRECTIVE.fullmatch(head)
            if directive is None:
                held += fence[0]
            elif directive[1] == "literalinclude" and pending and directive[2].removesuffix(".txt") in pending[0]:
                yield Cell(False, pending[0], self._file(directive[2]))
                pending = None
            elif directive[1] == "homework-list":
                if held.strip():
                    yield Cell(True, held.strip())
                held = ""
                yield None
            else:
                held += self._directive(directive[1], directive[2], inner)
        if pending:
            yield Cell(False, *pending)
        held += self._plain(body[at:])
        if held.strip():
            yield Cell(True, held.strip())

    def _directive(self, name: str, argument: str, inner: str) -> str:
        options, content = _options(inner)
        if name == "picture":
            caption = self._plain(content).strip()
            return f"> *A picture on the lesson's page:* {options.get('alt', '')}\n>\n> {_quoted(caption)}\n"
        if name == "literalinclude":
            return f"```text\n{self._file(argument).rstrip()}\n```\n"
        if name == "worked":
            file, function = argument.split()
            return f"```python\n{self._worked(file, function, content)}\n```\n"
        if name == "kernel":
            return self._kernel(argument.split()[1], content)
        if name == "surgery-map":
            return "The table is on the course's pages, under *The surgery map*.\n"
        if name == "journey":
            rows = ([piece.strip() for piece in line.split("|")] for line in content.splitlines() if line.strip())
            return "".join(f"{number}. **{title}**: {gave} `{becomes}`\n" for number, title, gave, becomes in rows)
        raise CourseError(f"{self._folder} has a directive that notebooks cannot show: {name}.")

    def _plain(self, text: str) -> str:
        text = _NUMBER.sub(r"\1", text)
        text = _HOMEWORK.sub(lambda match: f"**{self._title(match[1])}**", text)
        return _LINK.sub(r"\1", _ATTRIBUTES.sub("", text))

    def _title(self, name: str) -> str:
        try:
            return self._course.exercise(name).title
        except UsageError:
            return name

    def _file(self, name: str) -> str:
        try:
            return (self._folder / name).read_text(encoding="utf-8")
        except OSError as error:
            raise CourseError(f"{self._folder / name} cannot be read ({error.strerror}).") from error

    def _worked(self, file: str, function: str, notes: str) -> str:
        """The function, with each note as a comment above the line that it is about."""
        text = self._file(file)
        body = trees.parse(text).body
        node = next((item for item in body if isinstance(item, ast.FunctionDef) and item.name == function), None)
        if node is None:
            raise CourseError(f"{self._folder / file} has no function {function}.")
        first = min([node.lineno, *(item.lineno for item in node.decorator_list)])
        left = [tuple(piece.strip() for piece in line.split("|", 1)) for line in notes.splitlines() if "|" in line]
        lines: list[str] = []
        for line in text.split("\n")[first - 1 : node.end_lineno]:
            found = next((note for note in left if note[0] in line), None)
            if found is not None:
                left.remove(found)
                indent = line[: len(line) - len(line.lstrip())]
                lines += [f"{indent}# {part}" for part in textwrap.wrap(found[1], _WIDTH - len(indent))]
            lines.append(line)
        return "\n".join(lines)

    def _kernel(self, function: str, notes: str) -> str:
        """Where the cell with the kernel's stub is, and the notes on its lines."""
        owner = next((ex for ex in self._course.exercises if function in [item.name for item in ex.functions]), None)
        if owner is None:
            raise CourseError(f"No exercise of the course asks for {function}.")
        told = [f"`{function}`, with its blanks, is in the cell that begins with `%%exercise {owner.id}`."]
        rows = [[piece.strip() for piece in line.split("|")] for line in notes.splitlines() if "|" in line]
        points = []
        for anchor, lessons, words in rows:
            where = anchor.replace("blank", "your part") if anchor.startswith("blank") else f"`{anchor}`"
            points.append(f"* {where}, from lesson {', '.join(lessons.split())}: {words}")
        return "\n".join([*told, "", *points]) + "\n"


def _options(inner: str) -> tuple[dict[str, str], str]:
    """A directive's options, and what it holds below them."""
    lines: Sequence[str] = inner.split("\n")
    options: dict[str, str] = {}
    while lines and (match := _OPTION.match(lines[0])):
        options[match[1]] = match[2]
        lines = lines[1:]
    return options, "\n".join(lines).strip("\n")


def _quoted(text: str) -> str:
    return text.replace("\n", "\n> ")
