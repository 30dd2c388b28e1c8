"""What the names of a student's module stand for: imports, jit functions, constants, and the rest."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

from autograder.lift._allow import DTYPES, TL_CALLS
from autograder.lift._numbers import Number, evaluate, spell
from autograder.lift._parse import Broken
from autograder.lift._types import Problem, Refusal

Path = tuple[str, ...]
TL: Path = ("triton", "language")


@dataclass(frozen=True, slots=True)
class Constant:
    """A module-level ``NAME = tl.constexpr(number)``."""

    line: int
    value: Number | None

    def text(self, name: str) -> str:
        """The one spelling that every supported Triton takes, compiled and interpreted."""
        return f"{name} = tl.constexpr({spell(self.value)})"


@dataclass(frozen=True, slots=True)
class Other:
    """A module-level name that no kernel may use; ``advice`` says why, or what to write."""

    line: int
    advice: str
    value: Number | None = None


Meaning = Path | ast.FunctionDef | Constant | Other | Broken


@dataclass(slots=True)
class Scope:
    """Module-level names; the last binding of a name counts, as in Python."""

    names: dict[str, Meaning] = field(default_factory=lambda: {"triton": ("triton",), "tl": TL})
    nested: dict[str, int] = field(default_factory=dict)

    def path(self, node: ast.expr, hidden: Iterable[str] = ()) -> Path | None:
        """The dotted path behind ``tl.load``, ``language.math.exp`` ...: None if ``node`` is not such a name.

        ``hidden`` are names that mean something local where ``node`` stands.
        """
        attributes: list[str] = []
        while isinstance(node, ast.Attribute):
            attributes.append(node.attr)
            node = node.value
        if not isinstance(node, ast.Name) or node.id in hidden:
            return None
        root = self.names.get(node.id)
        return (*root, *reversed(attributes)) if isinstance(root, tuple) else None

    def function(self, name: str) -> ast.FunctionDef | None:
        meaning = self.names.get(name)
        return meaning if isinstance(meaning, ast.FunctionDef) else None


def read(statements: Iterable[ast.stmt | Broken]) -> Scope:
    """Bind the names of all top-level statements, in order."""
    scope = Scope()
    for statement in statements:
        match statement:
            case Broken(name=name):
                scope.names[name] = statement
            case ast.FunctionDef(name=name):
                scope.names[name] = statement
            case ast.AsyncFunctionDef(name=name):
                scope.names[name] = Other(statement.lineno, "it is an `async def`; write a plain `def`")
            case ast.ClassDef(name=name):
                scope.names[name] = Other(
                    statement.lineno, "it is a class, and a kernel can use only jit functions"
                )
            case ast.Import() | ast.ImportFrom():
                _bind_import(scope, statement)
            case ast.Assign() | ast.AnnAssign():
                _bind_assignment(scope, statement)
            case _:
                _bind_block(scope, statement)
    for statement in statements:
        if not isinstance(statement, Broken):
            for node in _inner_functions(statement):
                scope.nested[node.name] = node.lineno
    return scope


def _inner_functions(statement: ast.stmt) -> Iterator[ast.FunctionDef]:
    for node in ast.walk(statement):
        if isinstance(node, ast.FunctionDef) and node is not statement:
            yield node


def _bind_import(scope: Scope, node: ast.Import | ast.ImportFrom) -> None:
    if isinstance(node, ast.Import):
        for alias in node.names:
            path = tuple(alias.name.split("."))
            scope.names[alias.asname or path[0]] = path if alias.asname else path[:1]
        return
    module = ("",) * node.level + tuple((node.module or "").split("."))
    for alias in node.names:
        if alias.name != "*":
            scope.names[alias.asname or alias.name] = (*module, alias.name)
        elif module == TL:
            scope.names.update({name: (*TL, name) for name in TL_CALLS | DTYPES | {"constexpr", "range"}})


def _bind_block(scope: Scope, node: ast.stmt) -> None:
    """Of ``if``, ``try`` and ``with`` at the top level only the imports are honoured."""
    for inner in ast.walk(node):
        if isinstance(inner, ast.Import | ast.ImportFrom):
            _bind_import(scope, inner)


def _bind_assignment(scope: Scope, node: ast.Assign | ast.AnnAssign) -> None:
    targets = node.targets if isinstance(node, ast.Assign) else [node.target]
    if node.value is None:
        return
    meaning = _meaning(scope, node)
    for target in targets:
        for name in ast.walk(target):
            if isinstance(name, ast.Name) and isinstance(name.ctx, ast.Store):
                plain = target is name
                scope.names[name.id] = meaning if plain else Other(node.lineno, _plain_advice(name.id, None))
    if isinstance(meaning, Other) and not meaning.advice:
        for target in targets:
            if isinstance(target, ast.Name):
                advice = _plain_advice(target.id, meaning.value)
                scope.names[target.id] = Other(meaning.line, advice, meaning.value)


def _plain_advice(name: str, value: Number | None) -> str:
    number = "number" if value is None else spell(value)
    return (
        f"it is a plain variable of the file, which no GPU accepts; write `{name} = tl.constexpr({number})`"
    )


def _meaning(scope: Scope, node: ast.Assign | ast.AnnAssign) -> Meaning:
    """What an assignment at the top level makes of its name."""
    value = node.value
    assert value is not None
    path = scope.path(value)
    if path is not None and path[:1] == ("triton",):
        return path
    numbers: dict[str, Number | None] = {
        name: known.value
        for name in {inner.id for inner in ast.walk(value) if isinstance(inner, ast.Name)}
        if isinstance(known := scope.names.get(name), Constant)
        or (isinstance(known, Other) and known.value is not None)
    }
    is_constant = _is_constexpr_call(scope, value) or (
        isinstance(node, ast.AnnAssign) and is_constexpr(scope, node.annotation)
    )
    try:
        number = evaluate(value, numbers, scope.path)
    except Refusal as refusal:
        return Other(node.lineno, refusal.message if is_constant else "")
    except RecursionError:
        return Other(node.lineno, "its value is nested too deeply" if is_constant else "")
    return Constant(node.lineno, number) if is_constant else Other(node.lineno, "", number)


def _is_constexpr_call(scope: Scope, node: ast.expr) -> bool:
    return isinstance(node, ast.Call) and is_constexpr(scope, node.func)


def is_constexpr(scope: Scope, annotation: ast.expr | None, hidden: Iterable[str] = ()) -> bool:
    """Whether an annotation means ``tl.constexpr``, in any of its spellings, quoted ones included."""
    if isinstance(annotation, ast.Constant) and isinstance(annotation.value, str):
        root, *rest = annotation.value.strip().split(".")
        known = scope.names.get(root)
        path: Path | None = (*known, *rest) if isinstance(known, tuple) else None
    else:
        path = None if annotation is None else scope.path(annotation, hidden)
    return path in {(*TL, "constexpr"), (*TL, "core", "constexpr")}


def missing(scope: Scope, name: str) -> Problem:
    """Why a wanted function is not there."""
    if name in scope.nested:
        line = scope.nested[name]
        return Problem(
            "not-started",
            line,
            f"`{name}` is defined inside another block, where it is not looked for; move it to the left margin.",
        )
    return Problem("not-started", None, f"There is no function `{name}` in this file.")
