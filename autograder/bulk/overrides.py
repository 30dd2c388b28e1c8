"""Scores that the instructor sets by hand, with a reason: a CSV that people may edit, and that re-grading keeps."""

from __future__ import annotations

import csv
import fcntl
import io
import math
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from pathlib import Path

from autograder.bulk.sheets import read_sheet
from autograder.errors import UsageError
from autograder.release.files import write_whole

_COLUMNS = ("student", "exercise", "score", "reason")
_MOST = 1e6  # points; more is a typing error


@dataclass(frozen=True, slots=True)
class Override:
    """``score`` in points replaces what was graded, and what lateness would leave of it."""

    student: str
    exercise: str
    score: float
    reason: str


Overrides = Mapping[str, Mapping[str, Override]]  # student -> exercise -> override


def load_overrides(path: Path) -> Overrides:
    """The overrides at ``path``; none if there is no such file.  Students are called as the file calls them.

    Raises:
        UsageError: a line is not what it should be; the sentence has its number.
    """
    try:
        columns, lines = read_sheet(path, str(path))
    except FileNotFoundError:
        return {}
    if missing := [name for name in _COLUMNS if name not in columns] if columns else []:
        raise UsageError(f"{path} has no column {' and '.join(missing)}. Its first line must be: {','.join(_COLUMNS)}.")
    found: dict[str, dict[str, Override]] = {}
    for line in lines:
        student, exercise, score, reason = (line.cells.get(name, "") for name in _COLUMNS)
        item = Override(student, exercise.strip(), _points(score), reason.strip())
        cells = {"student": student.strip(), "exercise": item.exercise, "score": score.strip(), "reason": item.reason}
        if lacking := [name for name, cell in cells.items() if not cell]:
            raise UsageError(
                f"{path}, line {line.number}: there is no {' and no '.join(lacking)}. Each line needs a student, an "
                "exercise, a score and a reason."
            )
        if not is_score(item.score):
            raise UsageError(f"{path}, line {line.number}: {no_score(score.strip())}")
        found.setdefault(student, {})[item.exercise] = item
    return found


def save_overrides(path: Path, overrides: Overrides) -> None:
    """Write the overrides, whole or not at all, so that `load_overrides` gives the same ones.

    Raises:
        UsageError: a score is no number of points, or the file cannot be written.
    """
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(_COLUMNS)
    for student in sorted(overrides):
        for item in sorted(overrides[student].values(), key=lambda one: one.exercise):
            if not is_score(item.score):
                raise UsageError(f"{item.score} is no number of points. A score is from 0 to {_MOST:.0f}.")
            writer.writerow((item.student, item.exercise, exact(item.score), item.reason))
    write_whole(path, text.getvalue().encode("utf-8", "replace"))


@contextmanager
def changing_overrides(path: Path) -> Iterator[None]:
    """Hold the overrides from reading to writing; whoever else wants to change them waits.

    Raises:
        UsageError: the folder cannot be written to.
    """
    try:
        stream = path.with_name(f".{path.name}.lock").open("w")
    except OSError as error:
        raise UsageError(f"{path} cannot be written ({(error.strerror or str(error)).lower()}).") from None
    with stream:
        with suppress(OSError):  # a network drive without locks
            fcntl.flock(stream, fcntl.LOCK_EX)
        yield


def called_as(overrides: Overrides, students: Iterable[str]) -> Overrides:
    """The overrides with each student called as in ``students``: spaces around an id in the file make no difference.

    An id that is nobody's, or could be that of two, stays as it is.
    """
    known = set(students)
    stripped: dict[str, list[str]] = {}
    for student in sorted(known):
        stripped.setdefault(student.strip(), []).append(student)
    found: dict[str, dict[str, Override]] = {}
    for student, items in overrides.items():
        fits = [student] if student in known else stripped.get(student.strip(), [])
        name = fits[0] if len(fits) == 1 else student
        found.setdefault(name, {}).update({key: replace(item, student=name) for key, item in items.items()})
    return found


def is_score(value: float) -> bool:
    """Whether it is a number of points that somebody can have."""
    return math.isfinite(value) and 0 <= value <= _MOST


def no_score(text: str) -> str:
    """The sentence about a score that is none."""
    point = text.replace(",", ".", 1)
    if "," in text and is_score(_points(point)):
        return f"{text!r} is no number of points. Write it with a point: {point}."
    return f"{text!r} is no number of points. A score is from 0 to {_MOST:.0f}, such as 1 or 0.5."


def exact(value: float) -> str:
    """A number with all its digits, and without a trailing ``.0``."""
    return repr(float(value)).removesuffix(".0")


def points_of(text: str) -> float:
    """A score as a person writes it.

    Raises:
        UsageError: it is none.
    """
    value = _points(text)
    if not is_score(value):
        raise UsageError(no_score(text))
    return value


def _points(text: str) -> float:
    try:
        return float(text)
    except ValueError:
        return math.nan
