"""One spelling for everything: a student's function as a normalised tree, and the text edits that make it so."""

from __future__ import annotations

import ast
import hashlib
from dataclasses import dataclass, field

from autograder.lift._allow import DROPPED
from autograder.lift._rewrite import Edit, Source
from autograder.lift._scope import TL, Path, Scope, is_constexpr
from autograder.lift._types import Remark


@dataclass(slots=True)
class Canonical:
    """A function in its normal form: aliases resolved, docstrings, prints and plain type hints gone."""

    tree: ast.FunctionDef
    edits: list[Edit]
    remarks: list[Remark]


def canonical(node: ast.FunctionDef, scope: Scope, source: Source) -> Canonical:
    """Normalise ``node`` in place; nothing is judged here, whatever is not understood stays as it is."""
    normaliser = _Normaliser(scope, source, local_names(node))
    normaliser.header(node)
    node.body = [normaliser.visit(statement) for statement in node.body]
    if node.decorator_list:
        normaliser.decorator(node)
    return Canonical(node, normaliser.edits, normaliser.remarks)


def local_names(node: ast.FunctionDef) -> frozenset[str]:
    """The parameters of a function and all that it assigns to."""
    names = {inner.arg for inner in ast.walk(node.args) if isinstance(inner, ast.arg)}
    for statement in node.body:
        for inner in ast.walk(statement):
            if isinstance(inner, ast.Name) and isinstance(inner.ctx, ast.Store):
                names.add(inner.id)
    return frozenset(names)


def start_of(node: ast.stmt | ast.expr) -> tuple[int, int]:
    return node.lineno, node.col_offset


def end_of(node: ast.stmt | ast.expr) -> tuple[int, int]:
    assert node.end_lineno is not None and node.end_col_offset is not None
    return node.end_lineno, node.end_col_offset


@dataclass(slots=True)
class _Normaliser(ast.NodeTransformer):
    scope: Scope
    source: Source
    hidden: frozenset[str]
    edits: list[Edit] = field(default_factory=list)
    remarks: list[Remark] = field(default_factory=list)

    # Names -----------------------------------------------------------------------------------------------

    def visit_Name(self, node: ast.Name) -> ast.expr:
        return self._path(node) or node

    def visit_Attribute(self, node: ast.Attribute) -> ast.expr:
        return self._path(node) or self.generic_visit(node)  # type: ignore[return-value]

    def _path(self, node: ast.Name | ast.Attribute) -> ast.expr | None:
        """``language.exp`` as ``tl.exp``, on one line; None if it is no path into triton."""
        path = self.scope.path(node, self.hidden)
        if path is None or path[0] != "triton" or not isinstance(node.ctx, ast.Load):
            return None
        names = ("tl", *path[2:]) if path[:2] == TL else path
        text = ".".join(names)
        if text.isascii() and self.source.between(start_of(node), end_of(node)) != text.encode():
            self.edits.append(self.source.replace(start_of(node), end_of(node), text))
        return ast.copy_location(dotted(names), node)

    def visit_Constant(self, node: ast.Constant) -> ast.expr:
        """Strings are written anew, so that none of the student's own spelling is left in the text."""
        if isinstance(node.value, str):
            self.edits.append(self.source.replace(start_of(node), end_of(node), ascii(node.value)))
            return ast.copy_location(ast.Constant(node.value), node)
        return node

    # Statements ------------------------------------------------------------------------------------------

    def visit_Expr(self, node: ast.Expr) -> ast.stmt:
        value = node.value
        if isinstance(value, ast.Constant) and (isinstance(value.value, str) or value.value is Ellipsis):
            return self._dropped(node)
        if isinstance(value, ast.Call) and (name := self._debug_name(value.func)):
            self.remarks.append(Remark(node.lineno, f"`{name}` is left out while grading."))
            return self._dropped(node)
        return self.generic_visit(node)  # type: ignore[return-value]

    def visit_Assert(self, node: ast.Assert) -> ast.stmt:
        self.remarks.append(Remark(node.lineno, "`assert` is left out while grading."))
        return self._dropped(node)

    def _debug_name(self, node: ast.expr) -> str | None:
        if (
            isinstance(node, ast.Name)
            and node.id == "print"
            and "print" not in self.hidden | set(self.scope.names)
        ):
            return "print"
        path = self.scope.path(node, self.hidden)
        return f"tl.{path[2]}" if path and path[:2] == TL and len(path) == 3 and path[2] in DROPPED else None

    def _dropped(self, node: ast.stmt) -> ast.Pass:
        self.edits.append(self.source.replace(start_of(node), end_of(node), "pass"))
        return ast.copy_location(ast.Pass(), node)

    def visit_AnnAssign(self, node: ast.AnnAssign) -> ast.stmt:
        constexpr = is_constexpr(self.scope, node.annotation, self.hidden)
        if not node.simple or not isinstance(node.target, ast.Name) or (node.value is None and constexpr):
            return node  # left as it is, to be refused
        if node.value is None:
            return self._dropped(node)
        equals = self.source.after_equals(end_of(node.annotation), start_of(node.value))
        text = ": tl.constexpr =" if constexpr else " ="
        self.edits.append(self.source.replace(end_of(node.target), equals, text))
        value = self.visit(node.value)
        if constexpr:
            annotation = dotted(("tl", "constexpr"))
            kept = ast.AnnAssign(target=node.target, annotation=annotation, value=value, simple=1)
            return ast.copy_location(kept, node)
        return ast.copy_location(ast.Assign(targets=[node.target], value=value), node)

    # The header ------------------------------------------------------------------------------------------

    def header(self, node: ast.FunctionDef) -> None:
        """Write ``def name(parameters):`` anew on the line of the ``def``; the lines up to the body are blank."""
        arguments = node.args
        node.returns = None
        for argument in ast.walk(arguments):
            if isinstance(argument, ast.arg):
                constexpr = is_constexpr(self.scope, argument.annotation)
                argument.annotation = dotted(("tl", "constexpr")) if constexpr else None
                argument.type_comment = None
        quiet = _Normaliser(self.scope, self.source, frozenset())
        arguments.defaults = [quiet.visit(default) for default in arguments.defaults]
        body = start_of(node.body[0])
        margin = self.source.lines[body[0] - 1][: body[1]]
        begin, text = (node.lineno, 0), f"def {ascii_only(node.name)}({ascii_only(ast.unparse(arguments))}):"
        if body[0] == node.lineno:
            self.edits.append(Edit(begin, body, text + " "))
        else:
            indent = ascii_only(margin.decode()) if not margin.strip() else " "
            self.edits.append(Edit(begin, body, text + "\n" * (body[0] - node.lineno) + indent))

    def decorator(self, node: ast.FunctionDef) -> None:
        """``@triton.jit`` however it is spelled; the lines of the decorator are written by the caller."""
        first = node.decorator_list[0]
        called = isinstance(first, ast.Call)
        path = self.scope.path(first.func if isinstance(first, ast.Call) else first)
        if len(node.decorator_list) > 1 or path not in JIT:
            return
        if called and (first.args or first.keywords):  # type: ignore[attr-defined]
            self.remarks.append(
                Remark(first.lineno, "The options of `@triton.jit` are left out while grading.")
            )
        node.decorator_list = [ast.copy_location(dotted(("triton", "jit")), first)]


JIT: frozenset[Path] = frozenset(
    {("triton", "jit"), ("triton", "runtime", "jit"), ("triton", "runtime", "jit", "jit")}
)


def ascii_only(text: str) -> str:
    """``text``, or a stand-in that cannot parse if it holds a look-alike letter (which is refused elsewhere)."""
    return text if text.isascii() else "?"


def dotted(names: tuple[str, ...]) -> ast.expr:
    """The tree of ``a.b.c``."""
    node: ast.expr = ast.Name(id=names[0], ctx=ast.Load())
    for name in names[1:]:
        node = ast.Attribute(value=node, attr=name, ctx=ast.Load())
    return node


def serial(node: object) -> object:
    """A tree as nested tuples, the same in every version of Python: fields that hold nothing are left out."""
    if isinstance(node, ast.AST):
        fields = ((name, getattr(node, name, None)) for name in node._fields)
        return (
            type(node).__name__,
            *((name, serial(value)) for name, value in fields if value not in (None, [])),
        )
    if isinstance(node, list):
        return tuple(serial(item) for item in node)
    return repr(node)


def fingerprint(node: ast.FunctionDef) -> str:
    """The sha256 of a canonical function, without the ``pass`` statements that dropped text leaves behind."""
    return hashlib.sha256(repr(_without_pass(serial(node))).encode()).hexdigest()


def _without_pass(tree: object) -> object:
    if not isinstance(tree, tuple):
        return tree
    kept = tuple(_without_pass(item) for item in tree if item != ("Pass",))
    return kept or ("Pass",)
