"""A loop's counter, read after its loop: on a GPU it holds there what it held before the loop."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator, Sequence

from autograder.lift._reasons import shown
from autograder.lift._types import Refusal


def refuse_counters_after_loops(function: ast.FunctionDef, unrolled: Callable[[ast.For], bool]) -> None:
    """Raise Refusal where a counter is read after its loop and before it gets another value.

    Compiled code does not hand a counter on, without a word; the interpreter, which is Python, does.  A loop that is
    ``unrolled`` while compiling leaves its last value behind.
    """
    for loop, after in _loops(function.body, ()):
        if isinstance(loop.target, ast.Name) and not unrolled(loop):
            line = _read_first(loop.target.id, after)
            if line:
                raise Refusal(
                    line,
                    f"{shown(loop.target.id)} counts a loop and is read after it. On a GPU it has there the value from "
                    "before the loop; compute what you need from the loop's bounds.",
                )


def _loops(block: Sequence[ast.stmt], after: Sequence[ast.stmt]) -> Iterator[tuple[ast.For, Sequence[ast.stmt]]]:
    """All `for` loops, with the statements that may follow each."""
    for place, statement in enumerate(block):
        rest = (*block[place + 1 :], *after)
        if isinstance(statement, ast.For):
            yield statement, rest
        for inner in _blocks(statement):
            yield from _loops(inner, rest)


def _blocks(statement: ast.stmt) -> tuple[list[ast.stmt], ...]:
    if isinstance(statement, ast.If):
        return statement.body, statement.orelse
    return (statement.body,) if isinstance(statement, ast.For | ast.While) else ()


def _read_first(name: str, statements: Sequence[ast.stmt]) -> int | None:
    """The line on which ``name`` is read before it is assigned; 0 if it is assigned first, None if it is neither."""
    for statement in statements:
        match statement:
            case ast.If():
                found = _read(name, statement.test)
                branches = [_read_first(name, block) for block in (statement.body, statement.orelse)]
                found = found or next((line for line in branches if line), None)
                if found is None and all(line == 0 for line in branches):
                    found = 0
            case ast.For():
                found = _read(name, statement.iter)
                counts = isinstance(statement.target, ast.Name) and statement.target.id == name
                if found is None:
                    found = 0 if counts else _read_first(name, statement.body) or None
            case ast.While():
                found = _read(name, statement.test) or _read_first(name, statement.body) or None
            case ast.AugAssign():
                found = _read(name, statement.value)
                if found is None and isinstance(statement.target, ast.Name) and statement.target.id == name:
                    found = statement.lineno
            case ast.Assign() | ast.AnnAssign():
                found = _read(name, statement.value) if statement.value is not None else None
                if found is None and _stores(name, statement):
                    found = 0
            case _:
                found = _read(name, statement)
        if found is not None:
            return found
    return None


def _read(name: str, node: ast.AST) -> int | None:
    for inner in ast.walk(node):
        if isinstance(inner, ast.Name) and inner.id == name and isinstance(inner.ctx, ast.Load):
            return inner.lineno
    return None


def _stores(name: str, node: ast.AST) -> bool:
    return any(
        isinstance(inner, ast.Name) and inner.id == name and isinstance(inner.ctx, ast.Store)
        for inner in ast.walk(node)
    )
