"""A loop's counter, read after its loop: on a GPU its value there is undefined."""

from __future__ import annotations

import ast
import itertools
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from autograder.lift._reasons import shown
from autograder.lift._types import Refusal

_MAX_SWITCHES = 3
_MANY_COUNTERS = 100

Names = frozenset[str]
_NONE: Names = frozenset()


def refuse_counters_after_loops(function: ast.FunctionDef, unrolled: Callable[[ast.For], bool]) -> None:
    """Raise Refusal where a counter is read after its loop and before it gets another value.

    Compiled code does not hand a counter on, without a word; the interpreter, which is Python, does.  A loop that is
    ``unrolled`` while compiling leaves its last value behind.  What follows a loop within another is the rest of the
    outer body, and then that body from its beginning.  Of an `if` on a compile-time parameter, which is there or not,
    either way is followed through the whole function.
    """
    loops = [node for node in ast.walk(function) if isinstance(node, ast.For) and not unrolled(node)]
    names = frozenset(name for loop in loops for name in _stored(loop.target))
    if not names:
        return
    # No kernel of a learner's has so many; for others the work stays bounded.
    most = _MAX_SWITCHES if len(names) <= _MANY_COUNTERS else 0
    switches = list(itertools.islice(_switches(function), most))
    for values in itertools.product((True, False), repeat=len(switches)):
        _Counters(names, unrolled, dict(zip(switches, values, strict=True))).check(function.body, _NONE)


@dataclass(frozen=True, slots=True)
class _Effect:
    """What statements do to the set of counters that hold no value: they take away ``given`` and add ``lost``."""

    given: Names = _NONE
    lost: Names = _NONE

    def __call__(self, stale: Names) -> Names:
        return stale - self.given | self.lost if self.given or self.lost else stale


@dataclass(slots=True)
class _Counters:
    """Follows the counters ``names`` from top to bottom; ``switches`` are compile-time parameters and their values."""

    names: Names
    unrolled: Callable[[ast.For], bool]
    switches: Mapping[str, bool]
    known: dict[ast.stmt, _Effect] = field(default_factory=dict)

    def check(self, block: Sequence[ast.stmt], stale: Names) -> None:
        """Raise Refusal at the first name of ``stale`` that is read in ``block`` before it gets a value."""
        for statement in block:
            match statement:
                case ast.If():
                    _refuse_reading(statement.test, stale)
                    for branch in self._branches(statement):
                        self.check(branch, stale)
                case ast.For():
                    _refuse_reading(statement.iter, stale)
                    self.check(statement.body, (stale | self._block(statement.body).lost) - _stored(statement.target))
                case ast.While():
                    again = stale | self._block(statement.body).lost
                    _refuse_reading(statement.test, again)
                    self.check(statement.body, again)
                case ast.AugAssign(target=ast.Name(id=name)) if name in stale:
                    raise _refusal(name, statement.lineno)
                case _:
                    _refuse_reading(statement, stale)
            stale = self._effect(statement)(stale)

    def _block(self, block: Sequence[ast.stmt]) -> _Effect:
        given: set[str] = set()
        lost: set[str] = set()
        for statement in block:
            effect = self._effect(statement)
            given |= effect.given
            lost -= effect.given
            lost |= effect.lost
        return _Effect(frozenset(given), frozenset(lost))

    def _effect(self, statement: ast.stmt) -> _Effect:
        if statement not in self.known:
            self.known[statement] = self._found(statement)
        return self.known[statement]

    def _found(self, statement: ast.stmt) -> _Effect:
        match statement:
            case ast.If():
                ways = [self._block(branch) for branch in self._branches(statement)]
                return _Effect(
                    frozenset.intersection(*(way.given for way in ways)), frozenset.union(*(way.lost for way in ways))
                )
            case ast.For():
                counter, lost = _stored(statement.target) & self.names, self._block(statement.body).lost
                return _Effect(counter, lost - counter) if self.unrolled(statement) else _Effect(_NONE, lost | counter)
            case ast.While():
                return _Effect(_NONE, self._block(statement.body).lost)
        return _Effect(_stored(statement) & self.names)

    def _branches(self, statement: ast.If) -> list[list[ast.stmt]]:
        """The ways that an `if` may go."""
        name, turned = _switch(statement.test)
        if name not in self.switches:
            return [statement.body, statement.orelse]
        return [statement.body if self.switches[name] != turned else statement.orelse]


def _switches(function: ast.FunctionDef) -> Iterator[str]:
    """The compile-time parameters that an `if` is about and that keep their value."""
    constant = {argument.arg for argument in function.args.args if argument.annotation} - _stored(function)
    tests = [_switch(node.test)[0] for node in ast.walk(function) if isinstance(node, ast.If)]
    yield from dict.fromkeys(name for name in tests if name in constant)


def _switch(test: ast.expr) -> tuple[str, bool]:
    """The name that a condition is, and whether `not` stands before it."""
    match test:
        case ast.Name(id=name):
            return name, False
        case ast.UnaryOp(op=ast.Not(), operand=ast.Name(id=name)):
            return name, True
    return "", False


def _refuse_reading(node: ast.AST, stale: Names) -> None:
    if stale:
        for inner in ast.walk(node):
            if isinstance(inner, ast.Name) and inner.id in stale and isinstance(inner.ctx, ast.Load):
                raise _refusal(inner.id, inner.lineno)


def _refusal(name: str, line: int) -> Refusal:
    return Refusal(
        line,
        f"{shown(name)} counts a loop and is read after it. On a GPU its value there is undefined; "
        "compute what you need from the loop's bounds.",
    )


def _stored(node: ast.AST) -> Names:
    return frozenset(
        inner.id for inner in ast.walk(node) if isinstance(inner, ast.Name) and isinstance(inner.ctx, ast.Store)
    )
