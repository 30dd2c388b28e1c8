"""One student file from text to vetted functions: parse, normalise, vet, rewrite, prove the rewriting."""

from __future__ import annotations

import ast
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from autograder.lift import _canon, _parse, _scope
from autograder.lift._reasons import brief, shown
from autograder.lift._rewrite import Source, Unsafe
from autograder.lift._scope import Path, Scope
from autograder.lift._types import LiftedFile, LiftedFunction, Problem, Refusal, Remark, Wanted
from autograder.lift._vet import Vet

_JIT: frozenset[Path] = frozenset(
    {("triton", "jit"), ("triton", "runtime", "jit"), ("triton", "runtime", "jit", "jit")}
)


def lift(
    source: str,
    wanted: Sequence[Wanted],
    *,
    extra_tl: frozenset[str] = frozenset(),
    forbidden_tl: frozenset[str] = frozenset(),
) -> LiftedFile:
    """Vet a student's ``source`` and lift its jit functions; the text is parsed, never imported or run.

    ``wanted`` are the functions the course asks for, ``extra_tl`` names of ``tl`` that are allowed beyond the
    usual ones, ``forbidden_tl`` those of the usual ones that are not.

    Never raises on account of the text: what cannot be used is in ``problems``.
    """
    parsed = _parse.parse(source)
    if parsed.failure is not None:
        return LiftedFile({}, {one.name: parsed.failure for one in wanted}, ())
    scope = _scope.read(parsed.statements)
    contracts = {one.name: one for one in wanted}
    names = _callable(scope, contracts)
    kernels = _kernels(scope, contracts)
    work = _Lift(scope, Source(parsed.lines), contracts, extra_tl, forbidden_tl, names, kernels)
    for name in names:
        work.lift(name)
    work.refuse_cycles()
    return work.result()


def _callable(scope: Scope, contracts: Mapping[str, Wanted]) -> dict[str, frozenset[str] | None]:
    """What a kernel may call by name, with its parameters: the file's functions and the wanted ones."""
    names: dict[str, frozenset[str] | None] = {}
    for name, meaning in scope.names.items():
        if isinstance(meaning, ast.FunctionDef):
            names[name] = frozenset(argument.arg for argument in meaning.args.args)
        elif isinstance(meaning, _parse.Broken):
            names[name] = None
    return names | {name: frozenset(contract.parameters) for name, contract in contracts.items()}


def _kernels(scope: Scope, contracts: Mapping[str, Wanted]) -> frozenset[str]:
    """The functions that a clean module may hold, whose names no variable should take."""
    found = {
        name
        for name, meaning in scope.names.items()
        if isinstance(meaning, _parse.Broken) or (isinstance(meaning, ast.FunctionDef) and meaning.decorator_list)
    }
    return frozenset(found | set(contracts))


@dataclass(slots=True)
class _Lift:
    scope: Scope
    source: Source
    contracts: Mapping[str, Wanted]
    extra_tl: frozenset[str]
    forbidden_tl: frozenset[str]
    callable: Mapping[str, frozenset[str] | None]
    kernels: frozenset[str]
    functions: dict[str, LiftedFunction] = field(default_factory=dict)
    problems: dict[str, Problem] = field(default_factory=dict)
    fingerprints: dict[str, str] = field(default_factory=dict)
    remarks: dict[str, list[Remark]] = field(default_factory=dict)
    bodies: dict[str, dict[int, str]] = field(default_factory=dict)

    def lift(self, name: str) -> None:
        """Lift one function, or note why not."""
        meaning = self.scope.names.get(name)
        if isinstance(meaning, _parse.Broken):
            self.problems[name] = meaning.problem
        elif not isinstance(meaning, ast.FunctionDef):
            self.problems[name] = _scope.missing(self.scope, name)
        else:
            try:
                self._vetted(meaning)
            except Refusal as refusal:
                self._refuse(name, refusal.line, refusal.message, refusal.outcome)
            except (Unsafe, RecursionError):
                what = f"{shown(name)} is laid out in an unusual way; write each statement on one line."
                self._refuse(name, meaning.lineno, what)

    def _refuse(self, name: str, line: int | None, message: str, outcome: str = "refused") -> None:
        self.problems[name] = Problem(outcome, line, message, self.fingerprints.get(name))

    def _vetted(self, node: ast.FunctionDef) -> None:
        """Normalise, vet and rewrite; raises Refusal, or Unsafe if the rewriting cannot be proved."""
        name = node.name
        if _parse.is_deeper(node):
            raise Refusal(node.lineno, f"The code of {shown(name)} is nested too deeply; split it up.")
        remarks = _check_decorators(node, self.scope)
        first = node.decorator_list[0].lineno
        node.decorator_list = [ast.copy_location(_canon.dotted(("triton", "jit")), node)]
        form = _canon.Normaliser(self.scope, self.source, _canon.local_names(node))
        form.function(node)
        tree = _canon.serial(node)
        self.fingerprints[name] = _canon.fingerprint(tree)
        if name in self.contracts:
            _check_parameters(node, self.contracts[name])
            _check_constexpr(node, self.contracts[name])
        vet = Vet(self.scope, self.callable, self.extra_tl, form.hidden, self.forbidden_tl)
        vet.function(node, self.kernels)
        self.bodies[name] = _clean_lines(node, tree, form, self.source, first)
        self.remarks[name] = remarks + form.remarks + vet.remarks
        last = node.end_lineno or node.lineno
        self.functions[name] = LiftedFunction(
            name, node.lineno, last, tuple(vet.calls), tuple(vet.constants), self.fingerprints[name]
        )

    def refuse_cycles(self) -> None:
        """Functions that call themselves, directly or in a circle, are no good to anyone."""
        calls = {name: one.calls for name, one in self.functions.items()}
        for group in _circles(calls):
            way = " calls ".join(shown(name) for name in _one_circle(group, calls))
            for name in group:
                line = self.functions[name].line
                message = f"Triton cannot compile functions that call themselves, and here {way}; use a loop."
                self._refuse(name, line, message)
                del self.functions[name]

    def result(self) -> LiftedFile:
        """What came of it; problems of functions that nobody needs are left out."""
        called = {name for one in self.functions.values() for name in one.calls}
        remarks = {remark for name in self.functions for remark in self.remarks[name]}
        return LiftedFile(
            self.functions,
            {name: one for name, one in self.problems.items() if name in called or name in self.contracts},
            tuple(sorted(remarks, key=lambda remark: (remark.line, remark.message))),
            len(self.source.lines),
            {name: self.bodies[name] for name in self.functions},
            {
                name: (meaning.line, meaning.text(name))
                for name, meaning in self.scope.names.items()
                if isinstance(meaning, _scope.Constant)
            },
        )


def _check_decorators(node: ast.FunctionDef, scope: Scope) -> list[Remark]:
    """Refuse all but one ``@triton.jit``, however spelled; its options are dropped with a remark."""
    if not node.decorator_list:
        what = f"`{brief(node.name)}` is not a Triton function yet"
        raise Refusal(node.lineno, f"{what}: add @triton.jit above `def {brief(node.name)}`.")
    for decorator in node.decorator_list:
        target = decorator.func if isinstance(decorator, ast.Call) else decorator
        if scope.path(target) not in _JIT:
            what = f"`@{brief(_dotted_text(target))}` above `def {brief(node.name)}` is not allowed"
            raise Refusal(decorator.lineno, f"{what}; keep only `@triton.jit`.")
    if len(node.decorator_list) > 1:
        raise Refusal(node.decorator_list[1].lineno, "`@triton.jit` is needed only once; remove one of them.")
    only = node.decorator_list[0]
    if isinstance(only, ast.Call) and (only.args or only.keywords):
        return [Remark(only.lineno, "The options of `@triton.jit` are left out while grading.")]
    return []


def _dotted_text(node: ast.expr) -> str:
    names: list[str] = []
    while isinstance(node, ast.Attribute):
        names.append(node.attr)
        node = node.value
    return ".".join([node.id if isinstance(node, ast.Name) else "...", *reversed(names)])


def _check_parameters(node: ast.FunctionDef, contract: Wanted) -> None:
    arguments = node.args
    names = [argument.arg for argument in (*arguments.posonlyargs, *arguments.args)]
    names += [f"*{arguments.vararg.arg}"] if arguments.vararg else []
    names += [argument.arg for argument in arguments.kwonlyargs]
    names += [f"**{arguments.kwarg.arg}"] if arguments.kwarg else []
    found, expected = ", ".join(names), ", ".join(contract.parameters)
    if found != expected:
        if len(found) > 400:
            found = found[:397] + "..."
        name = contract.name
        raise Refusal(
            node.lineno,
            f"The parameters of `{name}` were changed: expected `{name}({expected})`, found `{name}({found})`.",
        )


def _check_constexpr(node: ast.FunctionDef, contract: Wanted) -> None:
    for argument in node.args.args:
        name = argument.arg
        if name in contract.constexpr and argument.annotation is None:
            what = f"The parameter `{name}` of `{contract.name}`"
            raise Refusal(argument.lineno, f"{what} must be written `{name}: tl.constexpr`.")


def _clean_lines(
    node: ast.FunctionDef, tree: object, form: _canon.Normaliser, source: Source, first: int
) -> dict[int, str]:
    """The function's clean lines by number; Unsafe unless they parse to exactly the tree that was vetted."""
    last = node.end_lineno or node.lineno
    above = ["@triton.jit", *[""] * (node.lineno - first - 1)]
    lines = above + source.rewritten(node.lineno, last, form.edits)
    again = _parse.read_back("\n".join(lines) + "\n")
    if again is None or _canon.serial(again) != tree:
        raise Unsafe
    return {first + index: line for index, line in enumerate(lines) if line}


def _circles(calls: Mapping[str, Iterable[str]]) -> list[list[str]]:
    """The groups of functions that call each other in a circle (Tarjan's algorithm, without recursion)."""
    index: dict[str, int] = {}
    low: dict[str, int] = {}
    path: list[str] = []
    on_path: set[str] = set()
    found: list[list[str]] = []
    work: list[tuple[str, list[str]]] = []

    def enter(name: str) -> None:
        index[name] = low[name] = len(index)
        path.append(name)
        on_path.add(name)
        work.append((name, [other for other in calls[name] if other in calls]))

    for root in calls:
        if root not in index:
            enter(root)
        while work:
            name, rest = work[-1]
            if rest:
                other = rest.pop()
                if other not in index:
                    enter(other)
                elif other in on_path:
                    low[name] = min(low[name], index[other])
                continue
            work.pop()
            if work:
                low[work[-1][0]] = min(low[work[-1][0]], low[name])
            if low[name] == index[name]:
                group = [path.pop()]
                while group[-1] != name:
                    group.append(path.pop())
                on_path.difference_update(group)
                if len(group) > 1 or name in calls[name]:
                    found.append(group[::-1])
    return found


def _one_circle(group: Collection[str], calls: Mapping[str, Iterable[str]]) -> list[str]:
    """A way from a function back to itself inside such a group; of a long one, the beginning and the end."""
    members, after = set(group), next(iter(group))
    way: dict[str, None] = {}
    while after not in way:
        way[after] = None
        after = next(name for name in calls[after] if name in members)
    circle = list(way)[list(way).index(after) :]
    return [*circle[:4], *(["..."] if len(circle) > 4 else []), after]
