"""Text -> top-level statements, within limits; of a file that does not parse, the sound parts."""

from __future__ import annotations

import ast
import itertools
import re
from collections.abc import Iterator
from dataclasses import dataclass, field

from autograder import trees
from autograder.errors import ended
from autograder.lift._types import Problem

MAX_BYTES = 1 << 20
MAX_NODES = 200_000
MAX_DEPTH = 100
MAX_CUTS = 20
_GIANT = 128  # bits
"""How many ends are tried for a broken function before it is given up."""

_ONLY_KERNELS = "hand in only your kernels"
_STRAY = re.compile("[\0\ud800-\udfff]")
_HARD = re.compile(r"(?:async[ \t]+def|def|class)\b|@")
_SOFT = re.compile(r"[^\W\d]")
_DEF = re.compile(r"^(?:async[ \t]+)?def[ \t]+(\w+)", re.MULTILINE)
_LINE = re.compile(r"(?<=\bline )\d+")


@dataclass(frozen=True, slots=True)
class Broken:
    """A top-level function that Python cannot read."""

    name: str
    problem: Problem


@dataclass(slots=True)
class Parsed:
    """The top level of a file in order, or ``failure``: why nothing of it can be used."""

    lines: list[str]
    statements: list[ast.stmt | Broken] = field(default_factory=list)
    failure: Problem | None = None


def parse(source: str) -> Parsed:
    """Split ``source`` into lines as Python's parser does (no ``splitlines``) and read its top level."""
    text = source.removeprefix("\ufeff").replace("\r\n", "\n").replace("\r", "\n")
    parsed = Parsed(lines=text.removesuffix("\n").split("\n"))
    parsed.failure = _unreadable(text)
    if parsed.failure is not None:
        return parsed
    whole = _try(text)
    if not isinstance(whole, Problem):
        parsed.statements.extend(whole)
    elif whole.outcome == "refused":
        parsed.failure = whole
    else:
        parsed.statements = _rescue(parsed.lines)
    if sum(_size(statement) for statement in parsed.statements) > MAX_NODES:
        parsed.failure = Problem("refused", None, f"This file holds too much code; {_ONLY_KERNELS}.")
    return parsed


def _unreadable(text: str) -> Problem | None:
    if len(text) > MAX_BYTES or len(text.encode("utf-8", "replace")) > MAX_BYTES:
        return Problem("refused", None, f"This file is larger than 1 MB; {_ONLY_KERNELS}.")
    stray = _STRAY.search(text)
    if stray is not None:
        line = text.count("\n", 0, stray.start()) + 1
        return Problem("refused", line, "This line holds a byte that is no text; save the file as UTF-8.")
    return None


def _size(statement: ast.stmt | Broken) -> int:
    return 1 if isinstance(statement, Broken) else sum(1 for _ in ast.walk(statement))


def _try(text: str, first_line: int = 1) -> list[ast.stmt] | Problem:
    """The statements of ``text``, whose first line is ``first_line`` of the file, or why there are none."""
    try:
        tree = trees.parse(text)
    except SyntaxError as error:
        shift = first_line - 1
        line = None if error.lineno is None else max(1, error.lineno) + shift
        message = _LINE.sub(lambda number: str(int(number[0]) + shift), error.msg or "invalid syntax")
        return Problem("compile-error", line, f"Python cannot read this line: {ended(message)}")
    except (RecursionError, MemoryError):
        return Problem("refused", first_line, "The code from here on is nested too deeply to be read; split it up.")
    except ValueError:  # what newer versions of Python say of stray bytes
        return Problem("compile-error", first_line, "Python cannot read this text; save the file as UTF-8 text.")
    if first_line > 1:
        for statement in tree.body:
            ast.increment_lineno(statement, first_line - 1)
    _cut_down_giants(tree)
    return tree.body


def _cut_down_giants(tree: ast.Module) -> None:
    """Make whole numbers of thousands of digits smaller, which Python reads in hexadecimal and refuses to write.

    What is left does not fit in 64 bits either, and is refused wherever it stands.
    """
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and type(node.value) is int and node.value.bit_length() > _GIANT:
            node.value = 1 << _GIANT


@dataclass(slots=True)
class _Budget:
    """Bounds the work on a hostile file: bytes that may still be parsed."""

    left: int = 4 * MAX_BYTES

    def try_lines(self, lines: list[str], start: int, end: int) -> list[ast.stmt] | Problem:
        text = "\n".join(lines[start:end]) + "\n"
        self.left -= len(text) + 200
        if self.left < 0:
            return Problem("compile-error", start + 1, "Python cannot read this part of the file.")
        return _try(text, start + 1)


def _rescue(lines: list[str]) -> list[ast.stmt | Broken]:
    """Read each top-level definition by itself, so that one broken function costs only itself."""
    budget = _Budget()
    statements: list[ast.stmt | Broken] = []
    for start, end in _pieces(lines):
        whole = budget.try_lines(lines, start, end)
        statements.extend(_rescue_piece(lines, start, end, whole, budget) if isinstance(whole, Problem) else whole)
    return statements


def _pieces(lines: list[str]) -> Iterator[tuple[int, int]]:
    """From one definition at the left margin, decorators included, to the next."""
    start, decorated = 0, False
    for index, line in enumerate(lines):
        if not _HARD.match(line.lstrip("\f")):
            continue
        if not decorated and index > start:
            yield start, index
            start = index
        decorated = line.lstrip("\f").startswith("@")
    yield start, len(lines)


def _rescue_piece(lines: list[str], start: int, end: int, problem: Problem, budget: _Budget) -> list[ast.stmt | Broken]:
    """Read what can be read of a piece that does not parse: what follows its definition may be at fault."""
    definition = _DEF.search("\n".join(lines[start:end]))
    cuts = _soft_cuts(lines, start, end)
    if definition is None:
        return _one_by_one(lines, [start, *cuts], budget)
    for index, cut in enumerate(cuts[:MAX_CUTS]):
        found = budget.try_lines(lines, start, cut)
        if not isinstance(found, Problem):
            return [*found, *_one_by_one(lines, cuts[index:], budget)]
    return [Broken(definition[1], problem), *_one_by_one(lines, cuts, budget)]


def _one_by_one(lines: list[str], cuts: list[int], budget: _Budget) -> list[ast.stmt | Broken]:
    """The statements between neighbouring cuts, as far as they parse."""
    statements: list[ast.stmt | Broken] = []
    for start, end in itertools.pairwise(cuts):
        found = budget.try_lines(lines, start, end)
        if not isinstance(found, Problem):
            statements.extend(found)
    return statements


def _soft_cuts(lines: list[str], start: int, end: int) -> list[int]:
    """The lines after the piece's own definition where another statement may begin, and its end."""
    body = start
    while body < end - 1 and lines[body].lstrip("\f").startswith("@"):
        body += 1
    return [*(index for index in range(body + 1, end) if _SOFT.match(lines[index])), end]


def is_deeper(node: ast.AST, limit: int = MAX_DEPTH) -> bool:
    """Whether ``node`` is nested deeper than ``limit``; walked level by level, so no depth can hurt."""
    level: list[ast.AST] = [node]
    for _ in range(limit):
        level = [child for parent in level for child in ast.iter_child_nodes(parent)]
        if not level:
            return False
    return True


def read_back(text: str) -> ast.FunctionDef | None:
    """The one function that ``text`` holds, or None."""
    found = _try(text)
    if not isinstance(found, Problem) and len(found) == 1 and isinstance(found[0], ast.FunctionDef):
        return found[0]
    return None
