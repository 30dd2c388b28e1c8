"""What the names of a student's module stand for: imports, jit functions, constants, and the rest."""

from __future__ import annotations

import ast
from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass, field

from autograder.lift._allow import DTYPES, STRINGS, TEXTS, TL_CALLS
from autograder.lift._numbers import Number, evaluate, spell
from autograder.lift._parse import Broken
from autograder.lift._reasons import brief, quoted
from autograder.lift._types import Problem, Refusal

Path = tuple[str, ...]
TL: Path = ("triton", "language")


@dataclass(frozen=True, slots=True)
class Constant:
    """A module-level ``NAME = tl.constexpr(number)``, or one of the texts that an option takes."""

    line: int
    value: Number | str

    def text(self, name: str) -> str:
        """The one spelling that every supported Triton takes, compiled and interpreted."""
        return f"{name} = tl.constexpr({spell(self.value)})"


@dataclass(frozen=True, slots=True)
class Other:
    """A module-level name that no kernel may use; ``advice`` says why, or what to write."""

    line: int
    advice: str
    value: Number | str | None = None
    definition: bool = False


Meaning = Path | ast.FunctionDef | Constant | Other | Broken


@dataclass(slots=True)
class Scope:
    """Module-level names; the last binding of a name counts, as in Python."""

    names: dict[str, Meaning] = field(default_factory=lambda: {"triton": ("triton",), "tl": TL})
    nested: dict[str, int] = field(default_factory=dict)

    def path(self, node: ast.expr, hidden: Collection[str] = ()) -> Path | None:
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


_ASYNC = "it is an `async def`; write a plain `def`"
_CLASS = "it is a class, and a kernel can use only functions with `@triton.jit`"


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
                scope.names[name] = Other(statement.lineno, _ASYNC, definition=True)
            case ast.ClassDef(name=name):
                scope.names[name] = Other(statement.lineno, _CLASS, definition=True)
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
    if node.value is None:
        return
    meaning = _meaning(scope, node, node.value)
    for target in node.targets if isinstance(node, ast.Assign) else [node.target]:
        for name in ast.walk(target):
            if isinstance(name, ast.Name) and isinstance(name.ctx, ast.Store):
                known = meaning if target is name else None
                scope.names[name.id] = known or Other(node.lineno, _plain_advice(name.id, None))
        if isinstance(target, ast.Name) and isinstance(meaning, Other) and not meaning.advice:
            advice = _plain_advice(target.id, meaning.value)
            scope.names[target.id] = Other(node.lineno, advice, meaning.value)


def _plain_advice(name: str, value: Number | str | None) -> str:
    number = "number" if value is None else spell(value)
    advice = f"{brief(name)} = tl.constexpr({number})"
    return f"it is a plain variable of the file, which no GPU accepts; write `{advice}`"


_NOT_A_NUMBER = (
    "what stands in `tl.constexpr(...)` must be a number, or arithmetic on numbers whose result fits in 64 bits, or "
    f"{quoted(STRINGS['input_precision'])}"
)


def _meaning(scope: Scope, node: ast.Assign | ast.AnnAssign, value: ast.expr) -> Meaning:
    """What an assignment at the top level makes of its name; a plain variable has no advice yet."""
    path = scope.path(value)
    if path is not None and path[0] == "triton":
        return path
    constant = isinstance(value, ast.Call) and is_constexpr(scope, value.func)
    constant = constant or (isinstance(node, ast.AnnAssign) and is_constexpr(scope, node.annotation))
    if (text := _text(scope, value)) is not None:
        return Constant(node.lineno, text) if constant else Other(node.lineno, "", text)
    try:
        number = evaluate(value, _known_numbers(scope, value), scope.path)
    except (Refusal, RecursionError):
        return Other(node.lineno, _NOT_A_NUMBER if constant else "")
    return Constant(node.lineno, number) if constant else Other(node.lineno, "", number)


def _text(scope: Scope, value: ast.expr) -> str | None:
    """The text that an option may be given, if ``value`` is one or an earlier constant that holds one."""
    match value:
        case ast.Constant(value=str() as text) if text in TEXTS:
            return text
        case ast.Name(id=name):
            meaning = scope.names.get(name)
            if isinstance(meaning, Constant | Other) and isinstance(meaning.value, str):
                return meaning.value
        case ast.Call(func=function, args=[argument], keywords=[]) if is_constexpr(scope, function):
            return _text(scope, argument)
    return None


def _known_numbers(scope: Scope, value: ast.expr) -> dict[str, Number]:
    """The earlier constants and plain numbers that an expression names."""
    known: dict[str, Number] = {}
    for node in ast.walk(value):
        if isinstance(node, ast.Name):
            meaning = scope.names.get(node.id)
            if isinstance(meaning, Constant | Other) and isinstance(meaning.value, int | float):
                known[node.id] = meaning.value
    return known


def is_constexpr(scope: Scope, annotation: ast.expr | None, hidden: Collection[str] = ()) -> bool:
    """Whether an annotation means ``tl.constexpr``, in any of its spellings, quoted ones included."""
    path: Path | None
    if isinstance(annotation, ast.Constant) and isinstance(annotation.value, str):
        root, *rest = annotation.value.strip().split(".")
        known = scope.names.get(root)
        path = (*known, *rest) if isinstance(known, tuple) else None
    else:
        path = None if annotation is None else scope.path(annotation, hidden)
    return path in {(*TL, "constexpr"), (*TL, "core", "constexpr")}


def missing(scope: Scope, name: str) -> Problem:
    """Why a wanted function is not there."""
    if name in scope.nested:
        where = f"`{name}` is defined inside another block, where nothing is looked for"
        return Problem("not-started", scope.nested[name], f"{where}; move it to the left margin.")
    meaning = scope.names.get(name)
    if isinstance(meaning, Other) and meaning.definition:
        return Problem("refused", meaning.line, f"`{name}` cannot be used as a kernel: {meaning.advice}.")
    return Problem("not-started", None, f"There is no function `{name}` in this file.")
