"""Statements of a student's file, found by the lines of the lifted module, as a trace quotes them."""

from __future__ import annotations

import ast
import contextlib
import io
import tokenize
from collections.abc import Sequence

from autograder import trees
from autograder.errors import CourseError
from autograder.handin import split_lines
from autograder.lift import CompactModule
from autograder.plan import Plan
from autograder.protocol import printable
from autograder.traced import Line

_LONGEST_LINE = 400  # characters


class StudentLines:
    """The student's own lines: whole statements, found by the lines of the lifted module."""

    def __init__(self, plan: Plan, module: CompactModule) -> None:
        if plan.source is None or plan.source.text is None:
            raise CourseError(f"{plan.exercise.id} has no source to trace.")
        self._source = plan.source
        self._rows = split_lines(plan.source.text)
        self._module = module
        self._statements = [
            (node.lineno, node.body[0].lineno - 1 if isinstance(node, ast.For | ast.While) else node.end_lineno)
            for node in ast.walk(trees.parse(module.text))
            if isinstance(node, ast.stmt) and not isinstance(node, ast.FunctionDef | ast.If)
        ]

    def at(self, function: str, line: int | None) -> Line | None:
        """The statement that a line of the module belongs to, in one row."""
        if line is None:
            return None
        spans = [
            (first, last or first) for first, last in self._statements if first <= line <= max(first, last or first)
        ]
        first, last = max(spans, default=(line, line))
        numbers = [self._module.student_line(number) for number in (first, max(first, last))]
        start, end = numbers[0] or first, numbers[1] or last
        return Line(function, start, self._source.locate(start), _statement(self._rows[start - 1 : end]))


def _statement(rows: Sequence[str]) -> str:
    """Lines of code in one, without comments, and with nothing in it that a terminal obeys."""
    text = "\n".join(rows)
    shown = [row.partition("  #")[0] for row in rows]
    with contextlib.suppress(tokenize.TokenError, SyntaxError):
        cut = [*rows]
        for token in tokenize.generate_tokens(io.StringIO(f"(\n{text}\n)").readline):
            if token.type == tokenize.COMMENT:
                row, column = token.start
                cut[row - 2] = rows[row - 2][:column]
        shown = cut
    line = printable(" ".join(row.strip().removesuffix("\\").strip() for row in shown)).replace("\n", " ")
    return line if len(line) <= _LONGEST_LINE else f"{line[: _LONGEST_LINE - 4]} ..."
