"""Automatic mutants of a solution's function: one small change each, as a learner's slip might be.

Operators are swapped, constants changed, masks and keywords dropped, statements left out, branches forced.  A mutant
that still gets full score is either a hole in the checks or equivalent; which of the two is for a person to say.
"""

from __future__ import annotations

import ast
import copy
from collections.abc import Iterator
from dataclasses import dataclass

from autograder import trees

_OPERATORS: dict[type[ast.AST], type[ast.AST]] = {
    ast.Add: ast.Sub,
    ast.Sub: ast.Add,
    ast.Mult: ast.Div,
    ast.Div: ast.Mult,
    ast.FloorDiv: ast.Mult,
    ast.BitAnd: ast.BitOr,
    ast.BitOr: ast.BitAnd,
    ast.Lt: ast.LtE,
    ast.LtE: ast.Lt,
    ast.Gt: ast.GtE,
    ast.GtE: ast.Gt,
    ast.Eq: ast.NotEq,
    ast.NotEq: ast.Eq,
}
_CALLS = {
    "exp": "exp2",
    "exp2": "exp",
    "log": "log2",
    "log2": "log",
    "max": "min",
    "min": "max",
    "sum": "max",
    "maximum": "minimum",
    "minimum": "maximum",
    "zeros": "full",
}


@dataclass(frozen=True, slots=True)
class Mutant:
    """``change`` names it: the function, the statement before and after. ``text`` is the changed function."""

    function: str
    change: str
    text: str


def mutants(source: str, function: str) -> tuple[Mutant, ...]:
    """All mutants of a top-level function of ``source``, each text once."""
    tree = trees.parse(source)
    node = next(item for item in tree.body if isinstance(item, ast.FunctionDef) and item.name == function)
    if ast.get_docstring(node) is not None:
        node.body = node.body[1:]
    found: dict[str, Mutant] = {}
    original = ast.unparse(node)
    total = sum(1 for _ in _changes(node))
    for number in range(total):
        changed = copy.deepcopy(node)
        for index, (statement, apply) in enumerate(_changes(changed)):
            if index == number:
                before = _first_line(statement)
                apply()
                break
        text = ast.unparse(ast.fix_missing_locations(changed))
        if text != original and text not in found:
            after = _difference(original, text)
            found[text] = Mutant(function, f"{function}: {before} => {after}", text)
    return tuple(found.values())


def _changes(function: ast.FunctionDef) -> Iterator[tuple[ast.stmt, _Apply]]:
    """Every change as (statement it lies in, what makes it), in a fixed order."""
    for body in _bodies(function):
        for place, statement in enumerate(body):
            if len(body) > 1 and not isinstance(statement, ast.Return):
                yield statement, _Apply(body, place, None)
            if isinstance(statement, ast.If):
                yield statement, _Apply(statement, "test", ast.Constant(True))
                yield statement, _Apply(statement, "test", ast.Constant(False))
            for parent in _expressions(statement):
                for change in _expression_changes(parent):
                    yield statement, change


class _Apply:
    """Sets a field, or an item of a list, to a new value; None deletes an item."""

    def __init__(self, target: object, key: str | int, value: object) -> None:
        self._target, self._key, self._value = target, key, value

    def __call__(self) -> None:
        if isinstance(self._target, list):
            assert isinstance(self._key, int)
            self._target[self._key : self._key + 1] = [] if self._value is None else [self._value]
        else:
            setattr(self._target, str(self._key), self._value)


def _bodies(function: ast.FunctionDef) -> Iterator[list[ast.stmt]]:
    for node in ast.walk(function):
        for field in ("body", "orelse"):
            value = getattr(node, field, None)
            if isinstance(value, list) and value and isinstance(value[0], ast.stmt):
                yield value


def _expressions(statement: ast.stmt) -> Iterator[ast.AST]:
    """All nodes of a statement's own expressions, not those of statements inside it."""
    stack: list[ast.AST] = [statement]
    while stack:
        node = stack.pop()
        yield node
        stack.extend(child for child in ast.iter_child_nodes(node) if not isinstance(child, ast.stmt))


def _expression_changes(node: ast.AST) -> Iterator[_Apply]:
    if isinstance(node, ast.BinOp) and type(node.op) in _OPERATORS:
        yield _Apply(node, "op", _OPERATORS[type(node.op)]())
    if isinstance(node, ast.Compare) and type(node.ops[0]) in _OPERATORS:
        yield _Apply(node.ops, 0, _OPERATORS[type(node.ops[0])]())
    if isinstance(node, ast.Constant):
        if isinstance(node.value, (int, float)) and not isinstance(node.value, bool):
            yield _Apply(node, "value", node.value + 1)
        elif node.value == "-inf":
            yield _Apply(node, "value", "inf")
            yield _Apply(node, "value", "-1e4")
    if isinstance(node, ast.Call):
        for place, keyword in enumerate(node.keywords):
            if keyword.arg is not None:
                yield _Apply(node.keywords, place, None)
        if isinstance(node.func, ast.Attribute) and node.func.attr in _CALLS:
            yield _Apply(node.func, "attr", _CALLS[node.func.attr])
    for field, value in ast.iter_fields(node):
        if isinstance(value, ast.Call) and _is_where(value):
            for argument in value.args[1:]:
                yield _Apply(node, field, argument)
        if isinstance(value, ast.Subscript) and isinstance(value.slice, ast.Tuple):
            turned = ast.Subscript(value.value, ast.Tuple(value.slice.elts[::-1], ast.Load()), ast.Load())
            yield _Apply(node, field, turned)


def _is_where(call: ast.Call) -> bool:
    return isinstance(call.func, ast.Attribute) and call.func.attr == "where" and len(call.args) == 3


def _first_line(statement: ast.stmt) -> str:
    return ast.unparse(statement).split("\n")[0]


def _difference(before: str, after: str) -> str:
    """The first line of ``after`` that differs, or what was left out."""
    old, new = before.split("\n"), after.split("\n")
    for line, other in zip(old, new, strict=False):
        if line != other:
            return "(left out)" if len(new) < len(old) else other.strip()
    return "(left out)"
