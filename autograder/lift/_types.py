"""What goes into the lift and what comes out of it: frozen data, and the walk over the call graph."""

from __future__ import annotations

from collections.abc import Container, Iterable, Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class Wanted:
    """A function the course asks for: its parameters in order, and which of them must be ``tl.constexpr``."""

    name: str
    parameters: tuple[str, ...]
    constexpr: frozenset[str]


@dataclass(frozen=True, slots=True)
class Remark:
    """Something the student should know that costs nothing, such as a dropped print."""

    line: int
    message: str


@dataclass(frozen=True, slots=True)
class Problem:
    """Why a function cannot be used; ``outcome`` is "refused", "compile-error" or "not-started" (missing).

    ``fingerprint`` is that of `LiftedFunction`, where the function could be read: an untouched stub is known
    by it even if it would be refused.
    """

    outcome: str
    line: int | None
    message: str
    fingerprint: str | None = None


@dataclass(frozen=True, slots=True)
class LiftedFunction:
    """A jit function that is fine by itself; ``line`` is that of its ``def``.

    ``calls`` names the functions of the file that it calls directly (fine or not), ``constants`` the module's
    ``NAME = tl.constexpr(...)`` that it uses. ``fingerprint`` is the sha256 of its syntax: comments, layout,
    docstring, prints, type hints and the spelling of imports and decorators do not change it.
    """

    name: str
    line: int
    end_line: int
    calls: tuple[str, ...]
    constants: tuple[str, ...]
    fingerprint: str


@dataclass(frozen=True, slots=True)
class LiftedFile:
    """One student file after the lift.

    ``functions`` holds every jit function that is fine by itself, ``problems`` every wanted or called
    function that is not. Both are keyed by name.
    """

    functions: Mapping[str, LiftedFunction]
    problems: Mapping[str, Problem]
    remarks: tuple[Remark, ...]
    _line_count: int = field(default=0, repr=False)
    _bodies: Mapping[str, Mapping[int, str]] = field(default_factory=dict, repr=False)
    _constants: Mapping[str, tuple[int, str]] = field(default_factory=dict, repr=False)

    def reachable(self, names: Iterable[str], without: Container[str] = ()) -> tuple[str, ...]:
        """``names`` and all that they call, directly or not, each once, callers first.

        Names in ``without`` are neither listed nor looked into. One visit a function, so a hostile call graph
        with exponentially many paths costs no more than its size.
        """
        seen: dict[str, None] = {}
        stack = list(names)[::-1]
        while stack:
            name = stack.pop()
            if name in seen or name in without:
                continue
            seen[name] = None
            if name in self.functions:
                stack.extend(reversed(self.functions[name].calls))
        return tuple(seen)

    def problem_of(self, names: Iterable[str], without: Container[str] = ()) -> Problem | None:
        """The first problem among ``names`` and all they reach, or None; ``without`` as in `reachable`."""
        for name in self.reachable(names, without):
            if name in self.problems:
                return self.problems[name]
            if name not in self.functions:
                return Problem("not-started", None, f"There is no function `{name}` in this file.")
        return None

    def module(self, names: Iterable[str], without: Container[str] = ()) -> str:
        """A clean module: ``names``, all they reach and the constants of these, on the student's lines.

        It holds only ``@triton.jit`` functions and ``NAME = tl.constexpr(...)`` lines, no import: whoever
        runs it supplies ``triton``, ``tl`` and the functions named in ``without``, which are left out.

        Raises ValueError if a function that is needed has a problem; ask `problem_of` first.
        """
        wanted = self.reachable(names, without)
        for name in wanted:
            if name not in self.functions:
                raise ValueError(f"`{name}` cannot be lifted; problem_of() says why.")
        lines = [""] * self._line_count
        for constant in dict.fromkeys(c for name in wanted for c in self.functions[name].constants):
            line, text = self._constants[constant]
            lines[line - 1] = f"{lines[line - 1]}; {text}" if lines[line - 1] else text
        for name in wanted:
            for line, text in self._bodies[name].items():
                lines[line - 1] = text
        return "\n".join(lines) + "\n"

    def compact(self, names: Iterable[str], without: Container[str] = ()) -> CompactModule:
        """`module` without its empty lines: the same text wherever in a file its functions stand.

        Raises ValueError as `module` does.
        """
        rows = self.module(names, without).rstrip("\n").split("\n")
        kept = [number for number, row in enumerate(rows, start=1) if row.strip()]
        text = "".join(f"{rows[number - 1]}\n" for number in kept)
        if any(mark in text for mark in ('"""', "'''", "\\\n")):  # there an empty line may mean something
            return CompactModule("".join(f"{row}\n" for row in rows), tuple(range(1, len(rows) + 1)))
        return CompactModule(text, tuple(kept))


@dataclass(frozen=True, slots=True)
class CompactModule:
    """A clean module's ``text``, and the student's line for each of its lines."""

    text: str
    lines: tuple[int, ...]

    def student_line(self, line: int | None) -> int | None:
        """The student's number of a line of ``text``; None stays None."""
        if line is None or not 1 <= line <= len(self.lines):
            return None
        return self.lines[line - 1]


class Refusal(Exception):
    """Raised inside the lift where a function holds something that is not on the list."""

    outcome = "refused"

    def __init__(self, line: int | None, message: str) -> None:
        super().__init__(message)
        self.line = line
        self.message = message


class NoPython(Refusal):
    """Raised where Python reads a line and would not compile it."""

    outcome = "compile-error"


class UnknownName(Refusal):
    """Raised where a name has no meaning at all: a slip such as any compiler would report."""

    outcome = "compile-error"
