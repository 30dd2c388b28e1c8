"""The text of a `%%exercise` cell -> the stub file with that cell's functions, constants and imports in it."""

from __future__ import annotations

import ast
import difflib
import re
from collections.abc import Collection, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass

from autograder import trees
from autograder.catalogue import Exercise
from autograder.errors import UsageError
from autograder.handin import python_of_cell, split_lines
from autograder.release.spans import function_spans

_CONSTANT = re.compile(r"([A-Za-z_]\w*)[ \t]*(?::[^=\n]+)?=(?!=)")
_IMPORT = re.compile(r"(?:import|from)[ \t]")


@dataclass(frozen=True, slots=True)
class Answer:
    """The file's new text.  Line ``cell_line`` of the cell, from 1, is line ``file_line`` of the file.

    ``left_out`` are the cell's lines that hold no function, constant or import, and so belong to no file; ``replaced``
    are the names of what was in the file, means something else now, and is none of the exercise's own functions.
    """

    text: str
    cell_line: int
    file_line: int
    left_out: tuple[int, ...]
    replaced: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class _Block:
    """A function or constant of the cell: ``above`` are comment lines right above it, ``start`` its own first line."""

    name: str
    above: tuple[str, ...]
    lines: tuple[str, ...]
    start: int
    is_function: bool


def put_into(text: str, cell: str, exercise: Exercise, leave: Collection[str] = ()) -> Answer:
    """``text`` with what ``cell`` defines: what is there under the same name is replaced, what is new is added.

    ``cell`` is the whole cell, its `%%exercise` line included.  The same cell put in a second time changes nothing.
    Functions that are named in ``leave`` and are in the file stay as they are there.

    Raises:
        UsageError: the cell does not parse, or defines none of the exercise's functions.
    """
    lines = split_lines(python_of_cell(cell))
    body = _parsed(lines)
    blocks = _blocks(lines, body)
    names = [function.name for function in exercise.functions]
    _require_one(exercise, names, [block.name for block in blocks if block.is_function])
    before = split_lines(text)
    there = _meanings(before)
    put = [block for block in blocks if not (block.name in leave and block.name in there)]
    rows = _with_blocks(_with_imports(before, body), put, names)
    own = min((block for block in blocks if block.name in names), key=lambda block: block not in put)
    place = function_spans(rows)[own.name][-1][0]
    now = _meanings(rows)
    replaced = [
        block.name
        for block in put
        if block.name not in names and block.name in there and now.get(block.name) != there[block.name]
    ]
    left_out = sorted({*_left_out(body), *_magics(cell, lines)})
    return Answer("\n".join(rows) + "\n", own.start, place, tuple(left_out), tuple(replaced))


def back_to(text: str, earlier: str, exercise: Exercise) -> str | None:
    """``text`` with the exercise's functions as ``earlier`` has them, and what they use there and lack here.

    None if ``earlier`` has none of them.
    """
    old, rows = split_lines(earlier), split_lines(text)
    spans = function_spans(old)
    names = [function.name for function in exercise.functions if function.name in spans]
    if not names:
        return None
    try:
        body = trees.parse("\n".join(old)).body
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        places = [(name, *spans[name][-1]) for name in names]
        blocks = [_Block(name, (), tuple(old[first - 1 : last]), first, True) for name, first, last in places]
    else:
        used = used_by(earlier)
        wanted = set(names).union(*(used[name] for name in names if name in used))
        there = {*function_spans(rows), *(name for name, _, _ in _constants(rows))}
        blocks = [
            one for one in _blocks(old, body) if one.name in names or (one.name in wanted and one.name not in there)
        ]
        rows = _with_imports(rows, [node for node in body if wanted.intersection(_imported(node))])
    return "\n".join(_with_blocks(rows, blocks, names)) + "\n"


def functions_of(text: str, exercise: Exercise) -> tuple[str, ...]:
    """The exercise's functions as they stand in a text, line for line; those that are not there are left out."""
    rows = split_lines(text)
    spans = function_spans(rows)
    places = sorted(spans[function.name][-1] for function in exercise.functions if function.name in spans)
    return tuple("\n".join(rows[first - 1 : last]) for first, last in places)


def used_by(text: str) -> Mapping[str, Set[str]]:
    """All names that a text's functions, classes and constants use, also by way of others; none if unreadable."""
    try:
        body = trees.parse(text).body
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return {}
    direct = {name: _used_in(node) - {name} for node in body if (name := _name(node)) is not None}
    used: dict[str, Set[str]] = {}
    for name in direct:
        found: set[str] = set()
        todo = [name]
        while todo:
            fresh = direct.get(todo.pop(), set()) - found
            found |= fresh
            todo += fresh
        used[name] = found
    return used


def _used_in(node: ast.stmt) -> set[str]:
    """Names that a statement takes from around it; a function's own variables and parameters are none."""
    loaded: set[str] = set()
    bound: set[str] = set()
    for inner in ast.walk(node):
        if isinstance(inner, ast.Name):
            (loaded if isinstance(inner.ctx, ast.Load) else bound).add(inner.id)
        elif isinstance(inner, ast.arg):
            bound.add(inner.arg)
    return loaded - bound


def _meanings(rows: Sequence[str]) -> Mapping[str, str]:
    """What each name stands for, comments and spacing aside; where the text does not parse, its functions' lines."""
    try:
        body = trees.parse("\n".join(rows)).body
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        spans = function_spans(list(rows)).items()
        return {name: "\n".join(rows[places[-1][0] - 1 : places[-1][1]]) for name, places in spans}
    return {name: ast.unparse(node) for node in body if (name := _name(node)) is not None}


def _imported(node: ast.stmt) -> set[str]:
    """The names that an import brings."""
    if not isinstance(node, (ast.Import, ast.ImportFrom)):
        return set()
    return {(alias.asname or alias.name).partition(".")[0] for alias in node.names}


def _magics(cell: str, lines: Sequence[str]) -> Iterator[int]:
    """The lines of a cell that are no Python: magics, shell and help lines; not the one that names the exercise."""
    rows = split_lines(cell)
    first = next((number for number, row in enumerate(rows, 1) if row.strip()), 0)
    for number, (row, kept) in enumerate(zip(rows, lines), 1):
        if number != first and row.strip() and row != kept:
            yield number


def _parsed(lines: Sequence[str]) -> list[ast.stmt]:
    try:
        return trees.parse("\n".join(lines)).body
    except SyntaxError as error:
        at = f"Line {error.lineno} of the cell" if error.lineno else "The cell"
        raise UsageError(f"{at} is no Python ({error.msg}). Nothing was saved or graded.") from None
    except (ValueError, RecursionError, MemoryError):
        raise UsageError("The cell is no Python that can be read. Nothing was saved or graded.") from None


def _require_one(exercise: Exercise, names: Sequence[str], defined: Sequence[str]) -> None:
    if any(name in defined for name in names):
        return
    wanted = " or ".join(names)
    close = [name for name in defined if difflib.get_close_matches(name, names, 1, 0.7)]
    if close:
        raise UsageError(f"This cell defines {close[0]}, but {exercise.id} asks for {wanted}. Nothing was saved.")
    raise UsageError(f"This cell defines no function {wanted}, which {exercise.id} asks for. Nothing was saved.")


def _blocks(lines: Sequence[str], body: Sequence[ast.stmt]) -> list[_Block]:
    """What the cell defines, in its order; of what is defined twice the last."""
    spans = function_spans(list(lines))
    found: dict[str, _Block] = {}
    for node in body:
        name = _name(node)
        if name is None:
            continue
        if isinstance(node, ast.FunctionDef):
            first, last = next(span for span in spans[name] if span[0] <= node.lineno <= span[1])
        else:
            first, last = _first_line(node), node.end_lineno or node.lineno
        alone = not any(
            other is not node and other.lineno <= last and (other.end_lineno or other.lineno) >= first for other in body
        )
        text = tuple(lines[first - 1 : last]) if alone else tuple(ast.unparse(node).split("\n"))
        above = tuple(lines[_above(lines, first) - 1 : first - 1])
        found.pop(name, None)
        found[name] = _Block(name, above, text, first, isinstance(node, ast.FunctionDef))
    return list(found.values())


def _name(node: ast.stmt) -> str | None:
    """What a statement defines: a function, a class or a constant."""
    if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
        return node.name
    target = None
    if isinstance(node, ast.Assign) and len(node.targets) == 1:
        target = node.targets[0]
    elif isinstance(node, ast.AnnAssign) and node.value is not None:
        target = node.target
    return target.id if isinstance(target, ast.Name) else None


def _first_line(node: ast.stmt) -> int:
    decorators: list[ast.expr] = getattr(node, "decorator_list", [])
    return min([node.lineno, *(part.lineno for part in decorators)])


def _above(lines: Sequence[str], first: int) -> int:
    """The first of the comment lines that stand right above line ``first``, or ``first`` itself."""
    while first > 1 and lines[first - 2].startswith("#"):
        first -= 1
    return first


def _left_out(body: Sequence[ast.stmt]) -> tuple[int, ...]:
    return tuple(
        node.lineno
        for node in body
        if _name(node) is None
        and not isinstance(node, (ast.Import, ast.ImportFrom, ast.Pass))
        and not (isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant))
    )


def _with_imports(rows: list[str], body: Sequence[ast.stmt]) -> list[str]:
    """The file with those imports of the cell that it lacks, behind its own."""
    wanted = [ast.unparse(node) for node in body if isinstance(node, (ast.Import, ast.ImportFrom))]
    try:
        own = trees.parse("\n".join(rows)).body
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        there = {row.strip(): number for number, row in enumerate(rows, 1) if _IMPORT.match(row)}
        after = max(there.values(), default=0)
    else:
        imports = [node for node in own if isinstance(node, (ast.Import, ast.ImportFrom))]
        there = {ast.unparse(node): node.end_lineno or node.lineno for node in imports}
        head = [own[0]] if own and isinstance(own[0], ast.Expr) and isinstance(own[0].value, ast.Constant) else []
        after = max((node.end_lineno or node.lineno for node in (*head, *imports)), default=0)
    missing = [text for text in dict.fromkeys(wanted) if text not in there]
    return [*rows[:after], *missing, *rows[after:]]


def _with_blocks(rows: list[str], blocks: Sequence[_Block], names: Sequence[str]) -> list[str]:
    spans = dict(function_spans(rows))
    for name, first, last in _constants(rows):
        spans[name] = [*spans.get(name, ()), (first, last)]
    edits: list[tuple[int, int, list[str]]] = []
    fresh: list[_Block] = []
    for block in blocks:
        places = sorted(spans.get(block.name, ()))
        if not places:
            fresh.append(block)
        for number, (first, last) in enumerate(places):  # of several the last counts: one is kept
            kept = number == len(places) - 1
            begin = _above(rows, first) if block.above or not kept else first
            edits.append((begin, last, [*block.above, *block.lines] if kept else []))
    own = [spans[name][-1][0] for name in names if name in spans]
    anchor = _above(rows, min(own)) if own else len(rows) + 1
    edits.append((anchor, anchor - 1, _spaced(fresh, at_end=not own)))
    updated = list(rows)
    # From the bottom up; at one place what is new comes before what is replaced.
    for first, last, lines in sorted(edits, key=lambda edit: (edit[0], edit[1]), reverse=True):
        updated[first - 1 : last] = lines
    return updated


def _spaced(blocks: Sequence[_Block], at_end: bool) -> list[str]:
    """New blocks with empty lines between them as is usual: two around a function, none between constants."""
    out: list[str] = []
    for number, block in enumerate(blocks):
        if (at_end and number == 0) or (number and (block.is_function or blocks[number - 1].is_function)):
            out += ["", ""]
        out += [*block.above, *block.lines]
    return [*out, "", ""] if out and not at_end else out


def _constants(rows: Sequence[str]) -> Iterator[tuple[str, int, int]]:
    """Name, first and last line of what is assigned or a class at the top level."""
    try:
        body = trees.parse("\n".join(rows)).body
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        for number, row in enumerate(rows, 1):
            if found := _CONSTANT.match(row):
                yield found[1], number, number
        return
    for node in body:
        if not isinstance(node, ast.FunctionDef) and (name := _name(node)) is not None:
            yield name, _first_line(node), node.end_lineno or node.lineno
