"""The result of one grading run: frozen dataclasses, and the JSON document they become (``schema`` 1).

Standard library only: reports, bulk grading and exports read results without torch.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, fields, is_dataclass
from typing import Any, TypeVar

SCHEMA = 1

_MOST = 1e6  # points of an exercise, and weight of a check; far more than there are

# Without these no class is graded unless the instructor says so.
MINIMUM_LAYERS = ("lifted source", "separate process", "rlimits", "scrubbed environment")

T = TypeVar("T")

# The message of a check that was left out because an earlier one failed.
AFTER_A_FAILURE = "Not run, since an earlier check failed."
# How the message of a check begins that fails although its outputs are right.
RIGHT_BUT = "The result is right"
# What a message says of NaN, where a kernel loads and where it does not; a report says it once.
NAN_COMES_OF = "NaN, not a number, comes of 0 / 0, inf / inf and inf - inf."
NAN_COMES_OF_MASKS = (
    f"{NAN_COMES_OF[:-1]}, and of elements that the mask of a load leaves out: without `other` they may hold anything."
)


@dataclass(frozen=True, slots=True)
class CheckResult:
    """One check.  ``repro`` is one command that repeats it; ``seed`` made its inputs, None where it was not reached."""

    id: str
    tier: str
    weight: float
    hidden: bool
    outcome: str
    proves: str
    message: str
    measurements: Mapping[str, Any] = field(default_factory=dict)
    where: Mapping[str, Any] | None = None
    repro: str | None = None
    seed: int | None = None


@dataclass(frozen=True, slots=True)
class Diagnosis:
    """A known mistake that explains the failure; distances are those of its model's output to the student's."""

    mistake: str
    message: str
    distance: float
    runner_up: float | None


@dataclass(frozen=True, slots=True)
class Clue:
    """What further runs showed of a failed exercise, in a sentence of what is certain.

    ``kind`` is ``mass`` or ``series``; ``table`` holds the numbers behind it, where they are worth a look.  A clue that
    is not ``telling`` is for want of a better one.
    """

    kind: str
    message: str
    telling: bool = True
    table: Mapping[str, Any] | None = None


@dataclass(frozen=True, slots=True)
class TargetResult:
    """One GPU target; ``shared`` is shared memory in bytes a block, ``spills`` bytes of stack a thread.

    ``original`` is the compiler's own text behind ``message``.
    """

    target: str
    outcome: str
    shared: int | None
    message: str
    original: str = ""
    registers: int | None = None
    spills: int | None = None


@dataclass(frozen=True, slots=True)
class ExerciseResult:
    """One exercise; ``score`` is in points, ``line`` is where its function starts in ``file``.

    In a notebook ``line`` counts from the beginning of the code cell ``cell``, both from 1.
    ``counts`` is False where it is left out of points and exit code: optional, or no check of it can run here.
    ``message`` says in a sentence why the exercise is not passed where no check does, and what was noticed.
    ``source`` is a hash of what was graded, None where there is nothing. ``closer`` are commands that look closer at a
    failure.
    """

    id: str
    lesson: int
    title: str
    points: float
    score: float
    optional: bool
    outcome: str
    seconds: float
    file: str | None
    line: int | None
    counts: bool = True
    message: str = ""
    checks: tuple[CheckResult, ...] = ()
    diagnosis: tuple[Diagnosis, ...] = ()
    gpu_targets: tuple[TargetResult, ...] = ()
    remarks: tuple[str, ...] = ()
    cell: int | None = None
    clues: tuple[Clue, ...] = ()
    source: str | None = None
    closer: tuple[str, ...] = ()

    @property
    def begins(self) -> str | None:
        """Where its function starts, as all messages name places: ``line 49``, or ``cell 3, line 12``."""
        if self.line is None:
            return None
        return f"line {self.line}" if self.cell is None else f"cell {self.cell}, line {self.line}"

    @property
    def passed(self) -> bool:
        return self.outcome == "pass"


@dataclass(frozen=True, slots=True)
class Environment:
    device: str
    gpu: str | None
    triton: str | None
    torch: str | None
    numpy: str | None
    python: str


@dataclass(frozen=True, slots=True)
class Sandbox:
    """What stands around the worker's children; each of ``missing`` is a sentence that begins with the layer's name."""

    layers: tuple[str, ...] = ()
    missing: tuple[str, ...] = ()

    @property
    def weak(self) -> tuple[str, ...]:
        """Layers of the minimum that are not there."""
        return tuple(layer for layer in MINIMUM_LAYERS if layer not in self.layers)


@dataclass(frozen=True, slots=True)
class RunResult:
    """A whole run.  ``error`` is set, and ``exercises`` is empty, when nothing could be graded.

    ``fingerprints`` is what bulk grading compares to know whether an exercise has to be graded again.
    """

    kit_version: str
    course_title: str | None
    seed: int | None
    hidden: bool
    environment: Environment
    sandbox: Sandbox
    exercises: tuple[ExerciseResult, ...]
    student: str | None = None
    error: str | None = None
    notes: tuple[str, ...] = ()
    fingerprints: Mapping[str, str] = field(default_factory=dict)

    @property
    def points(self) -> float:
        return sum(exercise.points for exercise in self.exercises if exercise.counts)

    @property
    def score(self) -> float:
        return sum(exercise.score for exercise in self.exercises if exercise.counts)

    @property
    def bonus(self) -> float:
        return sum(exercise.score for exercise in self.exercises if exercise.optional)

    @property
    def all_passed(self) -> bool:
        """Everything that counts is passed, and there is something that counts; of bonuses alone, all of them."""
        counting = [exercise for exercise in self.exercises if exercise.counts]
        counting = counting or [exercise for exercise in self.exercises if exercise.optional]
        return bool(counting) and all(exercise.passed for exercise in counting)


def to_document(result: RunResult) -> dict[str, Any]:
    """The JSON document of a run, as plain lists and dictionaries; non-finite numbers are strings."""
    document = {
        "schema": SCHEMA,
        "kit_version": result.kit_version,
        "student": result.student,
        "course": {"title": result.course_title},
        "seed": result.seed,
        "hidden": result.hidden,
        "environment": result.environment,
        "sandbox": result.sandbox,
        "total": {"score": _round(result.score), "points": _round(result.points), "bonus": _round(result.bonus)},
        "exercises": result.exercises,
        "notes": result.notes,
        "fingerprints": result.fingerprints,
        "error": result.error,
    }
    plain: dict[str, Any] = _plain(document)
    return plain


def to_json(result: RunResult) -> str:
    """The document as text, with a final line end."""
    return json.dumps(to_document(result), indent=1, ensure_ascii=False, allow_nan=False) + "\n"


def from_document(document: Mapping[str, Any]) -> RunResult:
    """The run that a document of `to_document` tells of.

    Raises:
        ValueError: it is no document of this schema.
    """
    try:
        if document["schema"] != SCHEMA:
            raise ValueError(f"schema {document['schema']!r} instead of {SCHEMA}")
        exercises = []
        for item in document["exercises"]:
            checks = tuple(_make(CheckResult, check) for check in item["checks"])
            diagnosis = tuple(_make(Diagnosis, one) for one in item["diagnosis"])
            targets = tuple(_make(TargetResult, one) for one in item["gpu_targets"])
            clues = tuple(_make(Clue, one) for one in item.get("clues", ()))
            closer = _texts(item.get("closer", ()))
            parts = {"checks": checks, "diagnosis": diagnosis, "gpu_targets": targets, "clues": clues, "closer": closer}
            exercises.append(_make(ExerciseResult, {**item, **parts, "remarks": _texts(item.get("remarks", []))}))
        sandbox = document["sandbox"]
        result = _make(
            RunResult,
            {
                **document,
                "course_title": document["course"]["title"],
                "environment": _make(Environment, document["environment"]),
                "sandbox": Sandbox(_texts(sandbox["layers"]), _texts(sandbox["missing"])),
                "exercises": tuple(exercises),
                "notes": _texts(document.get("notes", [])),
                "fingerprints": _fingerprints(document.get("fingerprints", {})),
            },
        )
        _check_scores(result)
        return result
    except (KeyError, TypeError, AttributeError, OverflowError) as error:
        raise ValueError(f"no result document: {error!r}") from error


def _check_scores(result: RunResult) -> None:
    """Raises ValueError where a score is no number that can be added up, or an exercise would count twice."""
    for exercise in result.exercises:
        numbers = (exercise.points, exercise.score, *(check.weight for check in exercise.checks))
        if not all(0 <= number <= _MOST for number in numbers):
            raise ValueError(f"{exercise.id} has a score, points or a weight that cannot be")
    if len({exercise.id for exercise in result.exercises}) < len(result.exercises):
        raise ValueError("an exercise is there twice")


def _make(kind: type[T], values: Mapping[str, Any]) -> T:
    """A dataclass from a mapping; keys that it does not know are left out.

    Raises:
        ValueError: a value is not of its field's type.
    """
    read = {}
    for item in fields(kind):  # type: ignore[arg-type]
        if item.name in values:
            value = values[item.name]
            read[item.name] = _READERS[item.type](value) if item.type in _READERS else value
    return kind(**read)


def _text(value: Any) -> str:
    if not isinstance(value, str):
        raise ValueError(f"{value!r:.40} is no text")
    if not value.isascii():
        value.encode()  # half a character raises a ValueError
    return value


def _texts(values: Any) -> tuple[str, ...]:
    if not isinstance(values, (list, tuple)):
        raise ValueError(f"{values!r:.40} is no list of texts")
    return tuple(_text(value) for value in values)


def _fingerprints(values: Any) -> dict[str, str]:
    return {_text(name): _text(value) for name, value in _mapping(values).items()}


def _whole(value: Any) -> int:
    if isinstance(value, bool) or not isinstance(value, int):
        raise ValueError(f"{value!r:.40} is no whole number")
    return value


def _real(value: Any) -> float:
    """A number; those that are not finite are texts in a document."""
    if value in ("nan", "inf", "-inf"):
        return float(value)
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        raise ValueError(f"{value!r:.40} is no number")
    return float(value)


def _flag(value: Any) -> bool:
    if not isinstance(value, bool):
        raise ValueError(f"{value!r:.40} is neither true nor false")
    return value


def _mapping(value: Any) -> Mapping[str, Any]:
    if not isinstance(value, Mapping):
        raise ValueError(f"{value!r:.40} is no object")
    return value


def _or_none(read: Callable[[Any], Any]) -> Callable[[Any], Any]:
    return lambda value: None if value is None else read(value)


# By a field's annotation, how its value is read.
_READERS: Mapping[Any, Callable[[Any], Any]] = {
    "str": _text,
    "str | None": _or_none(_text),
    "int": _whole,
    "int | None": _or_none(_whole),
    "float": _real,
    "float | None": _or_none(_real),
    "bool": _flag,
    "Mapping[str, Any]": _mapping,
    "Mapping[str, Any] | None": _or_none(_mapping),
}


def _plain(value: Any) -> Any:
    if is_dataclass(value) and not isinstance(value, type):
        return {item.name: _plain(getattr(value, item.name)) for item in fields(value)}
    if isinstance(value, Mapping):
        return {str(key): _plain(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [_plain(item) for item in value]
    if isinstance(value, float) and not math.isfinite(value):
        return "nan" if math.isnan(value) else ("inf" if value > 0 else "-inf")
    return value


def _round(value: float) -> float:
    """Sums of weights come out as 1.9999999: rounded to what a person would write."""
    return round(float(value), 6)
