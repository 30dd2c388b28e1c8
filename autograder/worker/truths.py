"""CPU: `not`, `max` and `min` of tiles as Triton compiles them, and what stands where a tile is no truth value."""

from __future__ import annotations

import ast
import builtins
from collections.abc import Callable
from functools import wraps
from pathlib import Path
from typing import Any

import triton.language as tl
from triton.runtime import interpreter as triton_interpreter

from autograder.worker.faults import SINGLE_TRUTHS, NotOneTruth

_TRITON = str(Path(triton_interpreter.__file__).parents[1])

# What the rewritten kernels call.  Triton's interpreter puts the names of its module within their reach, and the lift
# lets no kernel of a student have them.
_NOT, _TRUTH = "interpreter_not", "interpreter_truth"
_EXTREMES = {"max": "interpreter_max", "min": "interpreter_min"}


def compare_as_compiled() -> None:
    """Have the interpreter rewrite kernels so that tiles are told from single values in Python's own operations.

    Compiled, `not` of a tile turns each element over and `max` of two tiles is `tl.maximum`; Python asks a tile for one
    truth value instead.  The lines stay as they are.
    """
    for name, function in ((_NOT, _not), (_TRUTH, _truth), (_EXTREMES["max"], _max), (_EXTREMES["min"], _min)):
        setattr(triton_interpreter, name, function)
    rewriter = triton_interpreter.FunctionRewriter
    rewriter._transform_ast = _first_as_compiled(rewriter._transform_ast)
    builder = triton_interpreter.InterpreterBuilder
    builder.create_splat = _truths_stay_truths(builder.create_splat)


def _truths_stay_truths(splat: Callable[..., Any]) -> Callable[..., Any]:
    """Makes a tile of a single value; of `n != 53` one that can be part of a mask.

    The interpreter has a comparison's result go by the type of what was compared, and makes whole numbers of it.
    """

    @wraps(splat)
    def create_splat(self: Any, *arguments: Any) -> Any:
        tile = splat(self, *arguments)
        if arguments[-1].data.dtype == bool:
            tile.data = tile.data.astype(bool)
        return tile

    return create_splat


def _first_as_compiled(transform: Callable[[Any, str], Any]) -> Callable[[Any, str], Any]:
    """Rewrites a kernel before the interpreter does, unless it is Triton's own: there `max` is `tl.max`."""

    @wraps(transform)
    def transform_as_compiled(self: Any, source: str) -> Any:
        if not self.filename.startswith(_TRITON):
            self.ast_transformer = _Both(self.ast_transformer)
        return transform(self, source)

    return transform_as_compiled


class _Both:
    """Rewrites a kernel, and then has the interpreter rewrite it."""

    def __init__(self, interpreters_own: ast.NodeTransformer) -> None:
        self._interpreters_own = interpreters_own

    def visit(self, tree: ast.AST) -> Any:
        return self._interpreters_own.visit(_AsCompiled().visit(tree))


class _AsCompiled(ast.NodeTransformer):
    def visit_UnaryOp(self, node: ast.UnaryOp) -> ast.expr:
        self.generic_visit(node)
        return _call(_NOT, node.operand, at=node) if isinstance(node.op, ast.Not) else node

    def visit_BoolOp(self, node: ast.BoolOp) -> ast.expr:
        self.generic_visit(node)
        node.values[:-1] = [_truth_of(value, "and") for value in node.values[:-1]]  # the last is handed on as it is
        return node

    def visit_If(self, node: ast.If) -> ast.stmt:
        self.generic_visit(node)
        node.test = _truth_of(node.test, "if")
        return node

    def visit_While(self, node: ast.While) -> ast.stmt:
        self.generic_visit(node)
        node.test = _truth_of(node.test, "while")
        return node

    def visit_IfExp(self, node: ast.IfExp) -> ast.expr:
        self.generic_visit(node)
        node.test = _truth_of(node.test, "else")
        return node

    def visit_Call(self, node: ast.Call) -> ast.expr:
        self.generic_visit(node)
        if isinstance(node.func, ast.Name) and node.func.id in _EXTREMES:
            node.func = ast.copy_location(ast.Name(_EXTREMES[node.func.id], ast.Load()), node.func)
        return node


def _truth_of(test: ast.expr, where: str) -> ast.expr:
    return test if isinstance(test, ast.Constant) else _call(_TRUTH, test, ast.Constant(where), at=test)


def _call(name: str, *arguments: ast.expr, at: ast.expr) -> ast.expr:
    call = ast.Call(func=ast.Name(name, ast.Load()), args=list(arguments), keywords=[])
    return ast.fix_missing_locations(ast.copy_location(call, at))


def _truth(value: Any, where: str) -> Any:
    """``value`` as it is; raises NotOneTruth for a tile of several."""
    if isinstance(value, tl.tensor) and value.handle.data.size != 1:
        raise NotOneTruth(SINGLE_TRUTHS[where])
    return value


def _not(value: Any) -> Any:
    if isinstance(value, tl.tensor) and (value.type.is_block() or value.dtype == tl.int1):
        return triton_interpreter.interpreter_semantic.not_(value)
    return not value


def _max(*values: Any) -> Any:
    return _extreme("max", values)


def _min(*values: Any) -> Any:
    return _extreme("min", values)


def _extreme(name: str, values: tuple[Any, ...]) -> Any:
    if not any(isinstance(value, tl.tensor) for value in values):
        return getattr(builtins, name)(*values)
    if len(values) == 1:
        raise NotOneTruth(SINGLE_TRUTHS["max"])
    function, found = {"max": tl.maximum, "min": tl.minimum}[name], values[0]
    for value in values[1:]:
        found = function(found, value)
    return found
