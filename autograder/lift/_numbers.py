"""Arithmetic on literals with bounded results: what a constant is worth, and that ``9 ** 9 ** 9`` never runs."""

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
    ast.Invert: operator.invert,
    ast.Not: operator.not_,
}
_MATH_VALUES = {"pi": math.pi, "e": math.e, "inf": math.inf, "nan": math.nan, "tau": math.tau}
_MATH_CALLS = {"log": math.log, "log2": math.log2, "sqrt": math.sqrt, "exp": math.exp}


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
        raise Refusal(node.lineno, "A whole number must fit in 64 bits.")
    return value if isinstance(value, int | float) else None


def is_float_word(node: ast.expr) -> bool:
    """Whether ``node`` is a string that ``float("...")`` may be given."""
    return (
        isinstance(node, ast.Constant) and isinstance(node.value, str) and node.value.lower() in FLOAT_WORDS
    )


def evaluate(
    node: ast.expr, names: Mapping[str, Number | None], resolve: Callable[[ast.expr], tuple[str, ...] | None]
) -> Number | None:
    """The value of a module-level expression of literals and earlier constants; None stands for ``None``.

    ``resolve`` turns ``math.log2`` and the like into a dotted path. Raises Refusal for all else.
    """
    match node:
        case ast.Constant(value=None):
            return None
        case ast.Constant(value=bool() | int() | float() as value):
            return _bounded(node, operator.pos if type(value) is not bool else bool, value)
        case ast.Name(id=name) if name in names:
            return names[name]
        case ast.UnaryOp(operand=operand):
            return _known(node, unary(node, _known(node, evaluate(operand, names, resolve))))
        case ast.BinOp(left=left, right=right):
            a = _known(node, evaluate(left, names, resolve))
            return _known(node, binary(node, a, _known(node, evaluate(right, names, resolve))))
        case ast.Call(func=ast.Name(id="float" | "int" as name), args=[argument], keywords=[]):
            if name == "float" and is_float_word(argument):
                return float(argument.value)  # type: ignore[attr-defined]
            value = _known(node, evaluate(argument, names, resolve))
            return _known(node, _bounded(node, float if name == "float" else int, value))
        case ast.Call(func=function, args=[argument], keywords=[]):
            path = resolve(function)
            if path == ("triton", "language", "constexpr"):
                return evaluate(argument, names, resolve)
            if path and path[0] == "math" and path[-1] in _MATH_CALLS and len(path) == 2:
                value = _known(node, evaluate(argument, names, resolve))
                return _known(node, _bounded(node, _MATH_CALLS[path[1]], value))
        case ast.Name() | ast.Attribute():
            path = resolve(node)
            if path and path[0] == "math" and path[-1] in _MATH_VALUES and len(path) == 2:
                return _MATH_VALUES[path[1]]
    raise Refusal(
        node.lineno, "The value inside `tl.constexpr(...)` must be a number or arithmetic on numbers."
    )


def _known(node: ast.expr, value: Number | None) -> Number:
    if value is None:
        raise Refusal(node.lineno, "This arithmetic has no result that is a number.")
    return value


def spell(value: Number | None) -> str:
    """``value`` as source text that Triton takes in every mode."""
    if isinstance(value, float) and not math.isfinite(value):
        return f'float("{value}")'
    return repr(value)
