"""One student file from text to vetted functions: parse, normalise, vet, rewrite, and prove the rewriting."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from autograder.lift import _canon, _parse, _scope
from autograder.lift._allow import RESERVED
from autograder.lift._rewrite import Source, Unsafe
from autograder.lift._scope import Scope
from autograder.lift._types import LiftedFile, LiftedFunction, Problem, Refusal, Remark, Wanted, shown
from autograder.lift._vet import Vet


def lift(source: str, wanted: Sequence[Wanted], *, extra_tl: frozenset[str] = frozenset()) -> LiftedFile:
    """Vet a student's ``source`` and lift its jit functions; the text is parsed, never imported or run.

    ``wanted`` are the functions the course asks for, ``extra_tl`` names of ``tl`` that are allowed beyond the
    usual ones. Never raises on account of the text: what cannot be used is in ``problems``.
    """
    parsed = _parse.parse(source)
    if parsed.failure is not None:
        return LiftedFile({}, {one.name: parsed.failure for one in wanted}, ())
    return _Lift(parsed, wanted, extra_tl).run()


@dataclass(slots=True)
class _Lift:
    parsed: _parse.Parsed
    wanted: Sequence[Wanted]
    extra_tl: frozenset[str]
    functions: dict[str, LiftedFunction] = field(default_factory=dict)
    problems: dict[str, Problem] = field(default_factory=dict)
    remarks: dict[str, list[Remark]] = field(default_factory=dict)
    bodies: dict[str, dict[int, str]] = field(default_factory=dict)

    def run(self) -> LiftedFile:
        scope = _scope.read(self.parsed.statements)
        source = Source(self.parsed.lines)
        contracts = {one.name: one for one in self.wanted}
        callable_names = _callable(scope, contracts)
        for name in callable_names:
            meaning = scope.names.get(name)
            if isinstance(meaning, _parse.Broken):
                self.problems[name] = meaning.problem
            elif isinstance(meaning, ast.FunctionDef):
                self._one(meaning, scope, source, callable_names, contracts.get(name))
            else:
                self.problems[name] = _scope.missing(scope, name)
        self._refuse_cycles()
        return self._result(scope)

    def _one(
        self,
        node: ast.FunctionDef,
        scope: Scope,
        source: Source,
        callable_names: Mapping[str, tuple[str, ...] | None],
        contract: Wanted | None,
    ) -> None:
        """Lift one function, or note why not."""
        fingerprint = None
        try:
            if _parse.depth_of(node):
                raise Refusal(
                    node.lineno, f"The code of {shown(node.name)} is nested too deeply; split it up."
                )
            signature = _signature(node)
            first = _first_line(node)
            form = _canon.canonical(node, scope, source)
            fingerprint = _canon.fingerprint(node)
            _check_decorator(node)
            if node.name in RESERVED:
                raise Refusal(
                    node.lineno, f"A function cannot be called {shown(node.name)} here; choose another name."
                )
            if contract is not None:
                _check_signature(node, signature, contract)
            vet = Vet(scope, callable_names, self.extra_tl, _canon.local_names(node))
            vet.function(node)
            self.bodies[node.name] = _clean_lines(form, source, first)
        except Refusal as refusal:
            self.problems[node.name] = Problem("refused", refusal.line, refusal.message, fingerprint)
            return
        except Unsafe:
            self.problems[node.name] = Problem(
                "refused",
                node.lineno,
                f"{shown(node.name)} is laid out in an unusual way; write each statement on one line.",
            )
            return
        self.remarks[node.name] = form.remarks
        self.functions[node.name] = LiftedFunction(
            node.name,
            first,
            node.end_lineno or node.lineno,
            tuple(vet.calls),
            tuple(vet.constants),
            fingerprint,
        )

    def _refuse_cycles(self) -> None:
        for cycle in _cycles({name: one.calls for name, one in self.functions.items()}):
            way = " calls ".join(shown(name) for name in [*cycle[:4], cycle[0]])
            for name in cycle:
                line = self.functions.pop(name).line
                message = f"Triton cannot compile functions that call themselves, and here {way}; use a loop."
                self.problems[name] = Problem("refused", line, message)

    def _result(self, scope: Scope) -> LiftedFile:
        called = {name for one in self.functions.values() for name in one.calls}
        needed = called | {one.name for one in self.wanted}
        remarks = {remark for name in self.functions for remark in self.remarks[name]}
        constants = {
            name: (meaning.line, meaning.text(name))
            for name, meaning in scope.names.items()
            if isinstance(meaning, _scope.Constant)
        }
        return LiftedFile(
            self.functions,
            {name: problem for name, problem in self.problems.items() if name in needed},
            tuple(sorted(remarks, key=lambda remark: (remark.line, remark.message))),
            len(self.parsed.lines),
            {name: self.bodies[name] for name in self.functions},
            constants,
        )


def _callable(scope: Scope, contracts: Mapping[str, Wanted]) -> dict[str, tuple[str, ...] | None]:
    """What a kernel may call by name, with its parameters: the file's functions and those the course asks for."""
    names: dict[str, tuple[str, ...] | None] = {}
    for name, meaning in scope.names.items():
        if isinstance(meaning, ast.FunctionDef):
            names[name] = tuple(argument.arg for argument in meaning.args.args)
        elif isinstance(meaning, _parse.Broken):
            names[name] = None
    for name, contract in contracts.items():
        names[name] = contract.parameters
    return names


def _first_line(node: ast.FunctionDef) -> int:
    return min([node.lineno, *(decorator.lineno for decorator in node.decorator_list)])


def _check_decorator(node: ast.FunctionDef) -> None:
    name = shown(node.name)[1:-1]
    if not node.decorator_list:
        raise Refusal(
            node.lineno, f"`{name}` is not a Triton function yet: add @triton.jit above `def {name}`."
        )
    for decorator in node.decorator_list:
        if ast.unparse(decorator) != "triton.jit":
            what = shown(ast.unparse(decorator))[1:-1]
            raise Refusal(
                decorator.lineno, f"`@{what}` above `def {name}` is not allowed; keep only `@triton.jit`."
            )


def _signature(node: ast.FunctionDef) -> str:
    """The parameters as the student wrote them, for messages."""
    arguments = node.args
    names = [argument.arg for argument in (*arguments.posonlyargs, *arguments.args)]
    names += [f"*{arguments.vararg.arg}"] if arguments.vararg else []
    names += [argument.arg for argument in arguments.kwonlyargs]
    names += [f"**{arguments.kwarg.arg}"] if arguments.kwarg else []
    text = ", ".join(names)
    return text if len(text) <= 400 else text[:397] + "..."


def _check_signature(node: ast.FunctionDef, found: str, contract: Wanted) -> None:
    name, expected = contract.name, ", ".join(contract.parameters)
    if found != expected:
        raise Refusal(
            node.lineno,
            f"The parameters of `{name}` were changed: expected `{name}({expected})`, found `{name}({found})`.",
        )
    for argument in node.args.args:
        if argument.arg in contract.constexpr and argument.annotation is None:
            raise Refusal(
                argument.lineno,
                f"The parameter `{argument.arg}` of `{name}` must be written `{argument.arg}: tl.constexpr`.",
            )


def _clean_lines(form: _canon.Canonical, source: Source, first: int) -> dict[int, str]:
    """The function's clean lines by number; Unsafe unless they parse to exactly the tree that was vetted."""
    node = form.tree
    last = node.end_lineno or node.lineno
    lines = [
        "@triton.jit",
        *[""] * (node.lineno - first - 1),
        *source.rewritten(node.lineno, last, form.edits),
    ]
    again = _parse.read_back("\n".join(lines) + "\n")
    if again is None or _canon.serial(again) != _canon.serial(node):
        raise Unsafe
    return {first + index: line for index, line in enumerate(lines) if line}


def _cycles(calls: Mapping[str, Iterable[str]]) -> list[list[str]]:
    """The groups of functions that call each other in a circle (Tarjan's algorithm, without recursion)."""
    index: dict[str, int] = {}
    low: dict[str, int] = {}
    stack: list[str] = []
    on_stack: set[str] = set()
    found: list[list[str]] = []
    for root in calls:
        work = [(root, iter(calls[root]))] if root not in index else []
        while work:
            name, rest = work[-1]
            if name not in index:
                index[name] = low[name] = len(index)
                stack.append(name)
                on_stack.add(name)
            for other in rest:
                if other not in calls:
                    continue
                if other not in index:
                    work.append((other, iter(calls[other])))
                    break
                if other in on_stack:
                    low[name] = min(low[name], index[other])
            else:
                work.pop()
                if work:
                    parent = work[-1][0]
                    low[parent] = min(low[parent], low[name])
                if low[name] == index[name]:
                    cut = stack.index(name) if len(stack) < 64 else len(stack) - 1 - stack[::-1].index(name)
                    group, stack = stack[cut:], stack[:cut]
                    on_stack -= set(group)
                    if len(group) > 1 or name in calls[name]:
                        found.append(group)
    return found
