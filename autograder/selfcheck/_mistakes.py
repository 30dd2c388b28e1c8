"""The known wrong kernels, and the correct but unusual ones, under ``tests/mistakes/<exercise>/``."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from autograder.catalogue import Course, Exercise
from autograder.errors import CourseError

_SEEN_ON = re.compile(r"^# seen on: (cpu|cuda)$", re.MULTILINE)
AGAIN = "__again"
EQUIVALENT = "equivalent_mutants.toml"


@dataclass(frozen=True, slots=True)
class Variant:
    """One changed function of an exercise; ``device`` is the only one that shows it, or None for all."""

    exercise: Exercise
    name: str
    text: str
    device: str | None

    @property
    def label(self) -> str:
        return f"{self.exercise.id}/{self.name}"

    @property
    def is_second(self) -> bool:
        """Whether this is a known mistake's second kernel, restructured and renamed."""
        return self.name.endswith(AGAIN)


def mistakes(course: Course) -> Iterator[Variant]:
    """Every wrong kernel, by exercise and name."""
    for exercise in course.exercises:
        yield from _variants(exercise, _folder(course, exercise))


def unusual(course: Course) -> Iterator[Variant]:
    """Every correct kernel that goes about it in another way."""
    for exercise in course.exercises:
        yield from _variants(exercise, _folder(course, exercise) / "unusual")


def equivalent_mutants(course: Course, exercise: Exercise) -> Mapping[str, str]:
    """Mutants that are known to change nothing, with the reason why.

    Raises:
        CourseError: the list is malformed or a reason is empty.
    """
    path = _folder(course, exercise) / EQUIVALENT
    if not path.is_file():
        return {}
    try:
        entries = tomllib.loads(path.read_text(encoding="utf-8"))["mutant"]
        listed = {entry["change"]: entry["reason"] for entry in entries}
    except (tomllib.TOMLDecodeError, KeyError, TypeError) as error:
        raise CourseError(f"{path}: expected [[mutant]] tables with change and reason ({error}).") from error
    if not all(reason.strip() for reason in listed.values()):
        raise CourseError(f"{path}: every mutant needs a reason.")
    return listed


def _variants(exercise: Exercise, folder: Path) -> Iterator[Variant]:
    for path in sorted(folder.glob("*.py")):
        text = path.read_text(encoding="utf-8")
        seen_on = _SEEN_ON.search(text)
        yield Variant(exercise, path.stem, text, seen_on[1] if seen_on else None)


def _folder(course: Course, exercise: Exercise) -> Path:
    return course.root / "tests" / "mistakes" / exercise.id
