"""A student's function in one spelling: the normalised tree, and the text edits that lead to it."""

from __future__ import annotations

import ast
import hashlib
from dataclasses import dataclass, field

from autograder.lift._allow import DROPPED
from autograder.lift._expressions import is_literal
from autograder.lift._reasons import not_ascii
from autograder.lift._rewrite import Edit, Place, Source, Unsafe
from autograder.lift._scope import TL, Path, Scope, is_constexpr
from autograder.lift._types import Refusal, Remark


def local_names(node: ast.FunctionDef) -> frozenset[str]:
    """The parameters of a function and all that it assigns to."""
    names = {inner.arg for inner in ast.walk(node.args) if isinstance(inner, ast.arg)}
    for inner in ast.walk(node):
        if isinstance(inner, ast.Name) and isinstance(inner.ctx, ast.Store):
            names.add(inner.id)
    return frozenset(names)


@dataclass(slots=True)
class Normaliser(ast.NodeTransformer):
    """Rewrites one function in place and notes the edits of its text that do the same.

    Names of triton become ``tl.NAME`` or ``triton.NAME``; docstrings and prints become ``pass``; type hints
    other than ``tl.constexpr`` go. What is not understood stays as it is, to be judged afterwards.
    """

    scope: Scope
    source: Source
    hidden: frozenset[str]
    edits: list[Edit] = field(default_factory=list)
    remarks: list[Remark] = field(default_factory=list)

    def function(self, node: ast.FunctionDef) -> None:
        self._header(node)
        node.body = [self.visit(statement) for statement in node.body]

    def _replace(self, node: ast.stmt | ast.expr, text: str) -> None:
        self.edits.append(self.source.replace(_start(node), _end(node), text))

    # Names -----------------------------------------------------------------------------------------------

    def visit_Name(self, node: ast.Name) -> ast.expr:
        if node.id in {"tl", "triton"} and node.id not in self.hidden and self.scope.path(node, ()) is None:
            raise Refusal(node.lineno, _FOREIGN.format(node.id))
        return self._path(node) or node

    def visit_Attribute(self, node: ast.Attribute) -> ast.expr:
        found = self._path(node)
        if found is None:
            self.generic_visit(node)
        return found or node

    def _path(self, node: ast.Name | ast.Attribute) -> ast.expr | None:
        """``language.exp`` as ``tl.exp``, on one line; None if it is no path into triton."""
        path = self.scope.path(node, self.hidden)
        if path is None or not isinstance(node.ctx, ast.Load):
            return None
        if path[0] != "triton":
            root = node
            while isinstance(root, ast.Attribute):
                root = root.value  # type: ignore[assignment]
            if isinstance(root, ast.Name) and root.id in {"tl", "triton"}:
                raise Refusal(node.lineno, _FOREIGN.format(root.id))
            return None
        names = ("tl", *path[2:]) if path[:2] == TL else path
        text = ".".join(names)
        start, end = _start(node), _end(node)
        ascii_only = text.isascii() and self.source.line_that_is_not_ascii(start, end) is None
        if ascii_only and self.source.between(start, end) != text.encode():  # else refused afterwards
            self._replace(node, text)
        return ast.copy_location(dotted(names), node)

    def visit_Constant(self, node: ast.Constant) -> ast.expr:
        """Strings are written anew, so that none of the student's own spelling is left in the text."""
        if isinstance(node.value, str):
            text = ascii(node.value)
            written = self.source.between(_start(node), _end(node))
            plain = node.value.isascii() and node.value.isprintable() and not set(node.value) & set("\\\"'#")
            if not (plain and written in {text.encode(), f'"{node.value}"'.encode()}):
                self._replace(node, text)
            return ast.copy_location(ast.Constant(node.value), node)
        return node

    # Statements ------------------------------------------------------------------------------------------

    def visit_Expr(self, node: ast.Expr) -> ast.stmt:
        value = node.value
        if isinstance(value, ast.Constant) and (isinstance(value.value, str) or value.value is Ellipsis):
            return self._dropped(node)
        if isinstance(value, ast.Call) and (name := self._debug_name(value.func)):
            unseen = ", so that nothing of it is shown" if name.endswith("print") else ""
            self.remarks.append(Remark(node.lineno, f"`{name}` is left out while grading{unseen}."))
            return self._dropped(node)
        self.generic_visit(node)
        return node

    def visit_Assert(self, node: ast.Assert) -> ast.stmt:
        self.remarks.append(Remark(node.lineno, "`assert` is left out while grading."))
        return self._dropped(node)

    def _debug_name(self, node: ast.expr) -> str | None:
        """The name of a print or an assertion of Triton's, if ``node`` is one."""
        if isinstance(node, ast.Name) and node.id == "print":
            return None if "print" in self.hidden or "print" in self.scope.names else "print"
        path = self.scope.path(node, self.hidden)
        return f"tl.{path[2]}" if path and path[:2] == TL and len(path) == 3 and path[2] in DROPPED else None

    def _dropped(self, node: ast.stmt) -> ast.Pass:
        self._replace(node, "pass")
        return ast.copy_location(ast.Pass(), node)

    def visit_AnnAssign(self, node: ast.AnnAssign) -> ast.stmt:
        constexpr = is_constexpr(self.scope, node.annotation, self.hidden)
        if not node.simple or not isinstance(node.target, ast.Name) or (node.value is None and constexpr):
            return node  # refused afterwards
        if node.value is None:
            return self._dropped(node)
        equals = self.source.after_equals(_end(node.annotation), _start(node.value))
        text = ": tl.constexpr =" if constexpr else " ="
        self.edits.append(self.source.replace(_end(node.target), equals, text))
        value = self.visit(node.value)
        if constexpr:
            annotation = dotted(("tl", "constexpr"))
            kept = ast.AnnAssign(target=node.target, annotation=annotation, value=value, simple=1)
            return ast.copy_location(kept, node)
        return ast.copy_location(ast.Assign(targets=[node.target], value=value), node)

    # The header ------------------------------------------------------------------------------------------

    def _header(self, node: ast.FunctionDef) -> None:
        """Write ``def name(parameters):`` anew on the line of the ``def``; the rest up to the body is blank.

        A header that holds more than names and literals is cut short here and refused afterwards.
        """
        node.returns = None
        arguments = node.args
        for argument in ast.walk(arguments):
            if isinstance(argument, ast.arg):
                constexpr = is_constexpr(self.scope, argument.annotation)
                argument.annotation = dotted(("tl", "constexpr")) if constexpr else None
        unplaced = Normaliser(self.scope, self.source, frozenset())
        arguments.defaults = [_default(unplaced.visit(default)) for default in arguments.defaults]
        body, begin = _start(node.body[0]), (node.lineno, 0)
        line = self.source.line_that_is_not_ascii(begin, body)
        if line is not None:
            raise Refusal(line, not_ascii())
        text = f"def {node.name}({', '.join(_parameters(arguments))}):"
        margin = self.source.between((body[0], 0), body)
        if body[0] == node.lineno:
            text += " "
        else:
            text += "\n" * (body[0] - node.lineno) + (" " if margin.strip() else margin.decode())
        self.edits.append(Edit(begin, body, text))


_FOREIGN = "`{}` is not Triton's in this file; write `import triton` and `import triton.language as tl`."


def _parameters(arguments: ast.arguments) -> list[str]:
    """The parameters of a function as they are written in the clean module."""
    texts = [f"{one.arg}: tl.constexpr" if one.annotation else one.arg for one in arguments.args]
    for index, default in enumerate(reversed(arguments.defaults)):
        if index < len(texts) and is_literal(default):
            texts[-1 - index] += f"={ast.unparse(default)}"
    return texts


def _default(node: ast.expr) -> ast.expr:
    """A parameter's default; Triton up to 3.6 takes a text of a helper's only from within a ``tl.constexpr``."""
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        return ast.copy_location(ast.Call(func=dotted(("tl", "constexpr")), args=[node], keywords=[]), node)
    return node


def _start(node: ast.stmt | ast.expr) -> Place:
    return node.lineno, node.col_offset


def _end(node: ast.stmt | ast.expr) -> Place:
    if node.end_lineno is None or node.end_col_offset is None:  # ast.parse always sets them
        raise Unsafe
    return node.end_lineno, node.end_col_offset


def dotted(names: Path) -> ast.expr:
    """The tree of ``a.b.c``."""
    node: ast.expr = ast.Name(id=names[0], ctx=ast.Load())
    for name in names[1:]:
        node = ast.Attribute(value=node, attr=name, ctx=ast.Load())
    return node


def serial(node: object) -> object:
    """A tree as nested tuples, alike in every version of Python: empty fields are left out."""
    if isinstance(node, ast.AST):
        fields = ((name, getattr(node, name, None)) for name in node._fields)
        kept = ((name, serial(value)) for name, value in fields if value is not None and value != [])
        return (type(node).__name__, *kept)
    if isinstance(node, list):
        return tuple(serial(item) for item in node)
    return repr(node)


def fingerprint(tree: object) -> str:
    """The sha256 of a canonical function's `serial`, without the ``pass`` that dropped text leaves."""
    return hashlib.sha256(repr(_without_pass(tree)).encode()).hexdigest()


def _without_pass(tree: object) -> object:
    if not isinstance(tree, tuple):
        return tree
    return tuple(_without_pass(item) for item in tree if item != ("Pass",)) or (("Pass",),)
