"""Outcomes in words and symbols, so that no meaning rests on colour."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Outcome:
    """``tone`` chooses the colour, which only repeats what symbol and words say."""

    symbol: str
    words: str
    tone: str


# Plain text symbols that ordinary fonts have and that no system draws as a coloured picture.
OUTCOMES: Mapping[str, Outcome] = {
    "pass": Outcome("✓", "passed", "good"),
    "partial": Outcome("◐", "partly right", "part"),
    "fail": Outcome("✗", "not right yet", "bad"),
    "not-started": Outcome("○", "not started", "idle"),
    "refused": Outcome("⊘", "refused: something in it is not allowed", "bad"),
    "compile-error": Outcome("✗", "does not compile", "bad"),
    "timeout": Outcome("✗", "ran out of time", "bad"),
    "crashed": Outcome("✗", "crashed", "bad"),
    "out-of-memory": Outcome("✗", "ran out of memory", "bad"),
    "skipped": Outcome("–", "not run", "idle"),
    "grader-error": Outcome("!", "fault of the grader", "fault"),
}

CHECKS: Mapping[str, Outcome] = {
    **OUTCOMES,
    "fail": Outcome("✗", "failed", "bad"),
    "refused": Outcome("⊘", "refused", "bad"),
}


def outcome(name: str) -> Outcome:
    """An exercise's outcome."""
    return OUTCOMES.get(name, Outcome("?", name, "idle"))


def check_outcome(name: str) -> Outcome:
    """A check's outcome."""
    return CHECKS.get(name, Outcome("?", name, "idle"))


def counted(number: int, singular: str, plural: str | None = None) -> str:
    """``1 student``, ``3 students``."""
    return f"{number} {singular if number == 1 else plural or singular + 's'}"
