"""Scores that the instructor sets by hand, with a reason: a CSV that people may edit, and that re-grading keeps."""

from __future__ import annotations

import csv
import io
import math
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from autograder.errors import UsageError
from autograder.release.files import write_whole

_COLUMNS = ("student", "exercise", "score", "reason")


@dataclass(frozen=True, slots=True)
class Override:
    """``score`` in points replaces what was graded, and what lateness would leave of it."""

    student: str
    exercise: str
    score: float
    reason: str


Overrides = Mapping[str, Mapping[str, Override]]  # student -> exercise -> override


def load_overrides(path: Path) -> Overrides:
    """The overrides at ``path``; none if there is no such file.

    Raises:
        UsageError: a line is not what it should be; the sentence has its number.
    """
    try:
        text = path.read_text(encoding="utf-8-sig")
    except FileNotFoundError:
        return {}
    except (OSError, UnicodeDecodeError):
        raise UsageError(f"{path} cannot be read as UTF-8 text. Save it again as CSV.") from None
    found: dict[str, dict[str, Override]] = {}
    for number, row in enumerate(csv.DictReader(io.StringIO(text)), start=2):
        values = [(row.get(name) or "").strip() for name in _COLUMNS]
        try:
            score = float(values[2])
        except ValueError:
            score = math.nan
        if not values[0] or not values[1] or not math.isfinite(score) or score < 0 or not values[3]:
            raise UsageError(f"{path}, line {number}: each line needs a student, an exercise, a score and a reason.")
        found.setdefault(values[0], {})[values[1]] = Override(values[0], values[1], score, values[3])
    return found


def save_overrides(path: Path, overrides: Overrides) -> None:
    """Write the overrides, whole or not at all."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(_COLUMNS)
    for student in sorted(overrides):
        for item in sorted(overrides[student].values(), key=lambda one: one.exercise):
            writer.writerow((item.student, item.exercise, f"{item.score:g}", item.reason))
    write_whole(path, text.getvalue().encode())
