"""What `grade trace` has found, as frozen dataclasses and as a JSON document; standard library only.

The document (`schema` 1; numbers that are not finite are written as text, as in results; null is unknown)::

    {"schema": 1, "kit_version", "exercise", "file", "seed", "outcome", "message",
     "terms": {name: words},
     "cases": [{"id", "case": {...}, "outcome", "message", "program", "row", "place", "reading",
                "steps": [{"chunk", "keys": [first, last] | null, "same", "got": {name: number},
                           "expected": {name: number}}],
                "difference": null | {"step", "name", "part", "index", "got", "expected", "variable", "function",
                                      "line", "place", "source", "sentences": [...],
                                      "helper": null | {"function", "line", "place", "source"}},
                "notes": [...]}]}
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, replace
from typing import Any

from autograder import __version__

# "same": every recorded state is as expected and so is the output; "differs": a state is not; "after": the states are,
# and the output is not; "unrecognised": the state cannot be read.  Others are outcomes of a check.
TRACE_OUTCOMES = frozenset({"same", "differs", "after", "unrecognised"})


@dataclass(frozen=True, slots=True)
class Line:
    """A line of the student's file: its number, what it says, and the function it stands in.

    ``place`` is where a student finds it: a line, or a cell of a notebook and a line in it.
    """

    function: str
    line: int
    place: str
    source: str


@dataclass(frozen=True, slots=True)
class Step:
    """The state after one chunk, in the row shown; of what is more than one number for a row, its Euclidean length.

    ``keys`` are the chunk's first and last key, None behind the last chunk.
    """

    chunk: int | None
    keys: tuple[int, int] | None
    same: bool
    got: Mapping[str, float]
    expected: Mapping[str, float]


@dataclass(frozen=True, slots=True)
class Difference:
    """The first state that is not as expected: in ``step``, ``name`` is ``got`` where ``expected`` belongs.

    ``part`` is the part of the state that is at fault, None if that cannot be told, ``index`` is the row, and the
    column where there is one.  ``at`` is the line that last assigned the variable, ``helper`` the line in a function
    called there that made the value.
    """

    step: int
    name: str
    part: str | None
    index: tuple[int, ...]
    got: float
    expected: float
    variable: str | None
    at: Line | None
    helper: Line | None
    sentences: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class TracedCase:
    """One case of an exercise; without steps nothing could be traced, and ``message`` says why."""

    id: str
    case: Mapping[str, Any]
    outcome: str
    message: str = ""
    program: int | None = None
    row: int | None = None
    place: str = ""
    reading: str = ""
    steps: tuple[Step, ...] = ()
    difference: Difference | None = None
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Traced:
    """The traces of an exercise's cases, up to the first that differs; without cases ``message`` says why.

    ``terms`` are the exercise's words for what is shown.
    """

    exercise: str
    file: str | None
    seed: int
    outcome: str
    message: str = ""
    cases: tuple[TracedCase, ...] = ()
    terms: Mapping[str, str] = field(default_factory=dict)

    @property
    def all_same(self) -> bool:
        return self.outcome == "same"


def to_json(traced: Traced) -> str:
    """The document of a trace."""
    document = {"schema": 1, "kit_version": __version__, **asdict(replace(traced, terms=dict(traced.terms)))}
    for case in document["cases"]:
        case["difference"] = _difference(case["difference"])
    return json.dumps(_finite(document), indent=1, ensure_ascii=False, allow_nan=False) + "\n"


def _difference(values: dict[str, Any] | None) -> dict[str, Any] | None:
    if values is None:
        return None
    at = values.pop("at") or {"function": None, "line": None, "place": None, "source": None}
    return {**values, **at}


def _finite(value: Any) -> Any:
    if isinstance(value, float) and not math.isfinite(value):
        return str(value)
    if isinstance(value, Mapping):
        return {key: _finite(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [_finite(item) for item in value]
    return value
