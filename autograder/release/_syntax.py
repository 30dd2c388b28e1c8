"""Syntax trees as keys that survive reformatting and renaming, and the statements in a text that need not be Python.

A key is a dump of the tree in which every variable is numbered by its first appearance.  Layout, comments, line
joins, ``;``, ``x += y`` for ``x = x + y``, ``0`` for ``0.0`` and the names of variables do not show in it; names of
attributes and keywords, constants and the structure do.
"""

from __future__ import annotations

import ast
import re
import textwrap
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from autograder import trees

_UNCOUNTED = (ast.expr_context, ast.operator, ast.cmpop, ast.unaryop, ast.boolop)
_CONTINUES = re.compile(r"\s*(?:else|elif|except|finally|case)\b")
_CODE_LINE = re.compile(r"[=(\[:]")
_KEPT = "_weight"
_LONGEST_BLOCK = 400  # lines; a text of code parses as a whole, so that this only bounds what is tried on prose
# What may stand before code in comments, quotations, consoles, diffs and tables.
_PREFIX = re.compile(r"^\s*(?:(?:#:?|>>>|\.\.\.|>|\||[+-](?=\s)|[0-9]+[.)])\s?)+")
_SPAN = re.compile(r"`([^`\n]+)`")


@dataclass(frozen=True, slots=True)
class Line:
    """One statement and the line of the text that it begins in."""

    number: int
    node: ast.stmt


def weight(node: ast.AST) -> int:
    """How much a tree says: its nodes, without operators and contexts.  Kept on the nodes, as trees do not change."""
    if (known := _kept_weight(node)) is not None:
        return known
    waiting = [(node, False)]
    while waiting:
        part, ready = waiting.pop()
        children = [child for child in ast.iter_child_nodes(part) if not isinstance(child, _UNCOUNTED)]
        if ready:
            vars(part)[_KEPT] = 1 + sum(vars(child)[_KEPT] for child in children)
        else:
            waiting.append((part, True))
            waiting += [(child, False) for child in children if _kept_weight(child) is None]
    return weight(node)


def _kept_weight(node: ast.AST) -> int | None:
    """A node's weight if it was worked out before; operators and contexts, which trees share, have none."""
    return 0 if isinstance(node, _UNCOUNTED) else vars(node).get(_KEPT)


def expressions(node: ast.AST) -> Iterator[ast.expr]:
    """Every expression in a tree, but for those in statements within it."""
    waiting = [node]
    while waiting:
        part = waiting.pop()
        if isinstance(part, ast.expr):
            yield part
        waiting += [child for child in ast.iter_child_nodes(part) if not isinstance(child, ast.stmt)]


def head(node: ast.AST) -> tuple[str, ...]:
    """What two trees with one key have in common, read off without going through them.

    The kinds of a tree and of what it computes, and the attribute that is called: most trees are told apart by these.
    """
    if isinstance(node, ast.AugAssign):
        return "Assign", "BinOp"
    kind = type(node).__name__
    if isinstance(node, ast.AnnAssign) and node.value is not None:
        kind = "Assign"
    value = node.func if isinstance(node, ast.Call) else getattr(node, "value", None)
    if not isinstance(value, ast.AST):
        return (kind,)
    called = value.func if isinstance(value, ast.Call) else value
    if isinstance(called, ast.Attribute):
        return kind, type(value).__name__, called.attr
    return kind, type(value).__name__


def key(nodes: Sequence[ast.AST]) -> str:
    """The trees as text, with one numbering of names over all of them."""
    names: dict[str, str] = {}
    return "\n".join(_dump(node, names) for node in nodes)


def _dump(node: ast.AST, names: dict[str, str]) -> str:
    if isinstance(node, ast.Name):
        return names.setdefault(node.id, f"n{len(names)}")
    if isinstance(node, ast.Constant):
        value = node.value
        if isinstance(value, (int, float)) and not isinstance(value, bool) and abs(value) < 2**53:
            return repr(float(value))
        return repr(value)
    if isinstance(node, ast.AugAssign):
        target = _dump(node.target, names)
        return f"Assign([{target}],BinOp({target},{_dump(node.op, names)},{_dump(node.value, names)}))"
    if isinstance(node, ast.AnnAssign) and node.value is not None:
        return f"Assign([{_dump(node.target, names)}],{_dump(node.value, names)})"
    parts = []
    for field, value in ast.iter_fields(node):
        if field in ("ctx", "type_comment", "type_ignores", "kind", "annotation", "returns", "type_params"):
            continue
        if isinstance(value, ast.AST):
            parts.append(_dump(value, names))
        elif isinstance(value, list):
            kept = [item for item in value if isinstance(item, ast.AST) and not is_trivial(item)]
            parts.append("[" + ",".join(_dump(item, names) for item in kept) + "]")
        elif isinstance(value, str) and isinstance(node, (ast.arg, ast.FunctionDef)):
            parts.append(names.setdefault(value, f"n{len(names)}"))
        elif value is not None:
            parts.append(str(value))
    return f"{type(node).__name__}({','.join(parts)})"


def is_trivial(node: ast.AST) -> bool:
    """Docstrings, ``pass``, ``...`` and bare names: what says nothing, and what prose looks like to a parser."""
    if isinstance(node, ast.Pass):
        return True
    return isinstance(node, ast.Expr) and isinstance(node.value, (ast.Constant, ast.Name))


def parse(text: str) -> list[ast.stmt] | None:
    """The statements of a text that is Python as a whole, or None."""
    try:
        return trees.parse(textwrap.dedent(text)).body
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None


def statement_lists(text: str) -> Iterator[list[Line]]:
    """Every list of consecutive statements in a text: as it is, and in what is quoted or commented out in it.

    The text may be prose with code in it.  Bodies of functions, loops and conditions are lists of their own.
    """
    body = parse(text)
    if body is not None:
        top = [Line(node.lineno, node) for node in body]
        yield from _nested(top)
    else:
        yield from _nested(list(_loose(text.split("\n"))))
    uncovered = [_PREFIX.sub("", line) if _PREFIX.match(line) else "" for line in text.split("\n")]
    if any(uncovered):
        yield from _nested(list(_loose(uncovered)))
    for number, line in enumerate(text.split("\n"), 1):
        if "`" in line:
            for span in _SPAN.finditer(line):
                yield from _nested([Line(number, item.node) for item in _loose([span[1]])])


def _nested(lines: list[Line]) -> Iterator[list[Line]]:
    kept = [line for line in lines if not is_trivial(line.node)]
    if kept:
        yield kept
    for line in kept:
        for node in ast.walk(line.node):
            for field in ("body", "orelse", "finalbody"):
                inner = getattr(node, field, None)
                if isinstance(inner, list) and inner:
                    offset = line.number - line.node.lineno
                    found = [Line(item.lineno + offset, item) for item in inner if isinstance(item, ast.stmt)]
                    if kept_inner := [item for item in found if not is_trivial(item.node)]:
                        yield kept_inner


def _loose(lines: Sequence[str]) -> Iterator[Line]:
    """The statements among lines that do not parse as a whole; what is no statement is passed over."""
    place = 0
    while place < len(lines):
        found = _statement_at(lines, place) if _CODE_LINE.search(lines[place]) else None
        if found is None:
            place += 1
            continue
        body, length = found
        yield from (Line(place + node.lineno, node) for node in body)
        place += length


def _statement_at(lines: Sequence[str], start: int) -> tuple[list[ast.stmt], int] | None:
    """The statement that begins in a line, and how many lines it takes; None if none does."""
    first = lines[start]
    indent = len(first) - len(first.lstrip())
    if first.rstrip().endswith((":", ": ...")) or re.match(r"\s*(?:if|for|while|with|def)\b.*:\s*(?:#.*)?$", first):
        end = start + 1
        while end < len(lines) and end - start < _LONGEST_BLOCK:
            line = lines[end]
            deeper = len(line) - len(line.lstrip()) > indent
            if line.strip() and not deeper and not _CONTINUES.match(line):
                break
            end += 1
    else:
        end, depth = start, 0
        while end < len(lines) and end - start < _LONGEST_BLOCK:
            depth += sum(lines[end].count(mark) for mark in "([{") - sum(lines[end].count(mark) for mark in ")]}")
            end += 1
            if depth <= 0 and not lines[end - 1].rstrip().endswith("\\"):
                break
    body = parse("\n".join(lines[start:end]))
    return (body, end - start) if body else None
