"""Arithmetic on literals with bounded results: ``9 ** 9 ** 9`` is never computed."""

from __future__ import annotations

import ast
import math
import operator
from collections.abc import Callable, Mapping

from autograder.lift._allow import FLOAT_WORDS
from autograder.lift._types import Refusal

Number = int | float

LARGEST = 2**64
MAX_EXPONENT = 64
TOO_LARGE = "A whole number must fit in 64 bits."

_BINARY: dict[type[ast.operator], Callable[[Number, Number], Number]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
    ast.FloorDiv: operator.floordiv,
    ast.Mod: operator.mod,
    ast.Pow: operator.pow,
    ast.LShift: operator.lshift,
    ast.RShift: operator.rshift,
    ast.BitAnd: operator.and_,
    ast.BitOr: operator.or_,
    ast.BitXor: operator.xor,
}
_UNARY: dict[type[ast.unaryop], Callable[[Number], Number]] = {
    ast.USub: operator.neg,
    ast.UAdd: operator.pos,
    ast.Invert: lambda value: ~value if isinstance(value, int) else math.nan,
    ast.Not: operator.not_,
}
_VALUES = {"math.pi": math.pi, "math.e": math.e, "math.inf": math.inf, "math.nan": math.nan}
_CALLS: dict[str, Callable[[Number], Number]] = {
    "float": float,
    "int": int,
    "math.log": math.log,
    "math.log2": math.log2,
    "math.sqrt": math.sqrt,
    "math.exp": math.exp,
}
"""Of Python's functions, by dotted name, those that a constant may be computed with."""


def binary(node: ast.BinOp, left: Number, right: Number) -> Number | None:
    """``left <op> right``, or None where Python would raise; Refusal where the result would be huge."""
    if isinstance(node.op, ast.Pow) and abs(right) > MAX_EXPONENT:
        raise Refusal(node.lineno, f"An exponent may be at most {MAX_EXPONENT}.")
    if isinstance(node.op, ast.LShift) and right > MAX_EXPONENT:
        raise Refusal(node.lineno, f"A shift may be by at most {MAX_EXPONENT} bits.")
    function = _BINARY.get(type(node.op))
    return None if function is None else _bounded(node, function, left, right)


def unary(node: ast.UnaryOp, value: Number) -> Number | None:
    """``<op> value``, or None where Python would raise."""
    return _bounded(node, _UNARY[type(node.op)], value)


def _bounded(node: ast.expr, function: Callable[..., Number], *args: Number) -> Number | None:
    try:
        value = function(*args)
    except (ArithmeticError, ValueError, TypeError):
        return None
    if isinstance(value, int) and abs(value) >= LARGEST:
        raise Refusal(node.lineno, TOO_LARGE)
    return value if isinstance(value, int | float) else None


def is_float_word(node: ast.expr) -> bool:
    """Whether ``node`` is a string that ``float("...")`` may be given."""
    return isinstance(node, ast.Constant) and isinstance(node.value, str) and node.value.lower() in FLOAT_WORDS


def evaluate(
    node: ast.expr, names: Mapping[str, Number], resolve: Callable[[ast.expr], tuple[str, ...] | None]
) -> Number:
    """The value of a module-level expression of literals and earlier constants.

    ``resolve`` turns ``math.log2`` and the like into a dotted path. Raises Refusal for all that is no number.
    """
    match node:
        case ast.Constant(value=bool() as value):
            return value
        case ast.Constant(value=int() | float() as value):
            return _known(node, _bounded(node, operator.pos, value))
        case ast.Name(id=name) if name in names:
            return names[name]
        case ast.UnaryOp(operand=operand):
            return _known(node, unary(node, evaluate(operand, names, resolve)))
        case ast.BinOp(left=left, right=right):
            return _known(node, binary(node, evaluate(left, names, resolve), evaluate(right, names, resolve)))
        case ast.Call(func=ast.Name(id="float"), args=[ast.Constant(value=str() as word)], keywords=[]):
            if word.lower() in FLOAT_WORDS:
                return float(word)
        case ast.Call(func=function, args=[argument], keywords=[]):
            path = resolve(function)
            if path == ("triton", "language", "constexpr"):
                return evaluate(argument, names, resolve)
            name = function.id if path is None and isinstance(function, ast.Name) else ".".join(path or ())
            if name in _CALLS:
                return _known(node, _bounded(node, _CALLS[name], evaluate(argument, names, resolve)))
        case ast.Name() | ast.Attribute():
            name = ".".join(resolve(node) or ())
            if name in _VALUES:
                return _VALUES[name]
    raise Refusal(node.lineno, "This is neither a number nor arithmetic on numbers.")


def _known(node: ast.expr, value: Number | None) -> Number:
    if value is None:
        raise Refusal(node.lineno, "This arithmetic has no result that is a number.")
    return value


def spell(value: Number | str) -> str:
    """``value`` as source text that Triton takes in every mode; a text is one of a few plain words."""
    if isinstance(value, str):
        return f'"{value}"'
    if isinstance(value, float) and not math.isfinite(value):
        return f'float("{value}")'
    return repr(value)
