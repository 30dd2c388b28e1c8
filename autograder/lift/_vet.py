"""The judgement of a normalised function: its header, the names it gives, and its statements."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Set
from dataclasses import dataclass

from autograder.lift import _allow, _reasons
from autograder.lift._counters import refuse_counters_after_loops
from autograder.lift._expressions import Expressions, is_literal, module_path
from autograder.lift._reasons import brief, shown
from autograder.lift._scope import Constant
from autograder.lift._types import NoPython, Refusal


@dataclass(slots=True)
class Vet(Expressions):
    """Judges one canonical function; all that is not on the list is refused with the student's line."""

    loops: int = 0

    def function(self, node: ast.FunctionDef, kernels: Set[str]) -> None:
        """Raise Refusal unless ``node`` is fine; ``kernels`` are the names that functions of the file have."""
        self._header(node)
        parameters = {argument.arg: argument.lineno for argument in node.args.args}
        for name in sorted(self.local):
            what = self._taken(name, kernels, is_parameter=name in parameters)
            if what is not None:
                raise Refusal(parameters.get(name) or _first_store(node, name), what)
        self._block(node.body)
        refuse_counters_after_loops(node, self._is_unrolled)

    def _header(self, node: ast.FunctionDef) -> None:
        self.spelling(node.name, node.lineno)
        if node.name in _allow.RESERVED:
            raise Refusal(node.lineno, f"A function cannot be called {shown(node.name)}; choose another name.")
        arguments = node.args
        if arguments.vararg or arguments.kwarg or arguments.kwonlyargs or arguments.posonlyargs:
            raise Refusal(node.lineno, "The parameters must be plain names, without `*`, `**` or `/`.")
        if getattr(node, "type_params", None):
            raise Refusal(node.lineno, "A generic function is not allowed; remove the square brackets.")
        names_of = [parameter.arg for parameter in arguments.args]
        for place, parameter in enumerate(arguments.args):
            if parameter.arg in names_of[:place]:
                raise NoPython(parameter.lineno, f"{shown(parameter.arg)} is a parameter twice.")
        for parameter, default in zip(arguments.args[::-1], arguments.defaults[::-1], strict=False):
            names = {inner.id for inner in ast.walk(default) if isinstance(inner, ast.Name)}
            if not is_literal(default) or ("float" in names and self.rebound("float")):
                raise Refusal(
                    default.lineno,
                    'A parameter\'s default must be a plain number or `float("-inf")`, `True`, `False`, `None`, '
                    f"a type of `tl`, or for an option {_reasons.quoted(_allow.STRINGS['input_precision'])}.",
                )
            if isinstance(default, ast.Call) and "float" not in names and parameter.annotation is None:
                what = "A parameter that is a text must be known while compiling"
                raise Refusal(default.lineno, f"{what}: write `{brief(parameter.arg)}: tl.constexpr`.")

    def _taken(self, name: str, kernels: Set[str], *, is_parameter: bool) -> str | None:
        """Why a parameter or variable may not have this name; None if it may."""
        if (odd := _reasons.odd_name(name)) is not None:
            return odd
        if name in _allow.RESERVED:
            what = "already has a meaning in every kernel"
        elif name in kernels:
            what = "is a function"
        elif isinstance(self.scope.names.get(name), Constant) and not is_parameter:
            what = "is a constant of the file"
        else:
            return None
        return f"{shown(name)} {what}; choose another name for the variable."

    # Statements ------------------------------------------------------------------------------------------

    def _block(self, statements: Iterable[ast.stmt]) -> None:
        for statement in statements:
            self._statement(statement)

    def _statement(self, node: ast.stmt) -> None:
        match node:
            case ast.Pass():
                pass
            case ast.Expr(value=ast.Call() as call):
                self.call(call)
            case ast.Assign(targets=[target]):
                self._target(target)
                self.expression(node.value)
            case ast.AugAssign():
                self._augmented(node)
            case ast.AnnAssign():
                self._annotated(node)
            case ast.Return():
                self._return(node)
            case ast.If():
                self.expression(node.test)
                self._block(node.body)
                self._block(node.orelse)
            case ast.For() | ast.While():
                self._loop(node)
            case ast.Assign():
                raise Refusal(node.lineno, "Triton does not accept `a = b = ...`; write one assignment a line.")
            case ast.Expr():
                self.expression(node.value)
            case _:
                raise Refusal(node.lineno, _reasons.construct(node))

    def _augmented(self, node: ast.AugAssign) -> None:
        if isinstance(node.op, ast.MatMult):
            raise Refusal(node.lineno, _reasons.construct(node.op))
        if isinstance(node.op, ast.Pow | ast.LShift):
            # In a loop these make whole numbers of any length.
            raise Refusal(node.lineno, "`**=` and `<<=` are not allowed; write the whole assignment out.")
        self._target(node.target)
        self.expression(node.value)

    def _annotated(self, node: ast.AnnAssign) -> None:
        if node.value is None:
            raise Refusal(node.lineno, "This line has no value; write `name: tl.constexpr = value`.")
        if not node.simple or not isinstance(node.target, ast.Name):
            raise Refusal(node.lineno, "A type hint may only follow a plain name; remove it.")
        if not self.is_text(node.value, _allow.TEXTS):  # only `tl.constexpr` is left of type hints
            self.expression(node.value)

    def _return(self, node: ast.Return) -> None:
        if self.loops:
            raise Refusal(node.lineno, "No GPU accepts `return` inside a loop; return after it.")
        if node.value is not None:
            self.expression(node.value)

    def _target(self, node: ast.expr) -> None:
        match node:
            case ast.Name():
                return
            case ast.Tuple(elts=elements) if elements:
                for element in elements:
                    self._target(element)
                return
            case ast.Subscript():
                what = "A tile's elements cannot be assigned one by one; build a new tile with `tl.where`."
            case ast.Attribute():
                what = "An attribute cannot be assigned in a kernel; use a variable."
            case _:
                what = "Only a name, or several names with commas, can stand left of `=` in a kernel."
        raise Refusal(node.lineno, what)

    def _loop(self, node: ast.For | ast.While) -> None:
        if node.orelse:
            line = node.orelse[0].lineno
            raise Refusal(line, "`else` after a loop is not known in a kernel; write it after the loop.")
        if isinstance(node, ast.While):
            self.expression(node.test)
        else:
            self._counter(node)
        self.loops += 1
        self._block(node.body)
        self.loops -= 1

    def _counter(self, node: ast.For) -> None:
        if not isinstance(node.target, ast.Name):
            raise Refusal(node.lineno, "A `for` loop in a kernel counts with one name.")
        call = node.iter
        if not isinstance(call, ast.Call) or not self._is_range(call.func):
            raise Refusal(call.lineno, "A `for` loop in a kernel runs over `range`, `tl.range` or `tl.static_range`.")
        self.arguments(call, _allow.KEYWORDS)

    def _is_unrolled(self, node: ast.For) -> bool:
        return isinstance(node.iter, ast.Call) and module_path(node.iter.func) == ("tl", "static_range")

    def _is_range(self, node: ast.expr) -> bool:
        if isinstance(node, ast.Name):
            return node.id == "range" and not self.rebound("range")
        return module_path(node) in {("tl", name) for name in _allow.LOOPS}


def _first_store(function: ast.FunctionDef, name: str) -> int:
    """The line on which a variable first gets a value."""
    lines = [
        node.lineno
        for node in ast.walk(function)
        if isinstance(node, ast.Name) and node.id == name and isinstance(node.ctx, ast.Store)
    ]
    return min(lines, default=function.lineno)
