"""The texts of an exercise: its handout and its three hints."""

from __future__ import annotations

import re

from autograder.catalogue import Exercise
from autograder.errors import CourseError

_HINT = re.compile(r"^## [123]\b.*$", re.MULTILINE)


def read_hints(exercise: Exercise) -> tuple[str, str, str]:
    """The three hints, from nudge to almost there; one may begin with an indented block.

    Raises:
        CourseError: hints.md is missing or does not hold exactly three sections.
    """
    try:
        text = exercise.hints.read_text(encoding="utf-8")
    except OSError as error:
        raise CourseError(f"{exercise.hints} cannot be read ({error.strerror}).") from error
    parts = [part.strip("\n").rstrip() for part in _HINT.split(text)[1:]]
    if len(parts) != 3 or not all(part.strip() for part in parts):
        raise CourseError(f"{exercise.hints} must hold three hints under the headings ## 1, ## 2 and ## 3.")
    return parts[0], parts[1], parts[2]
