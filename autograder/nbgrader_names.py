"""What the course's parts are called in nbgrader, whoever writes there: a release of notebooks, or an export of grades.

Standard library only.
"""

from __future__ import annotations

import re
import unicodedata


def assignment_name(title: str) -> str:
    """A course's title as the name of an assignment, which is a folder for nbgrader: ``mini-flashattention``."""
    plain = unicodedata.normalize("NFKD", title).encode("ascii", "ignore").decode().lower()
    return re.sub(r"[^a-z0-9]+", "-", plain).strip("-") or "course"


def notebook_name(lesson: int) -> str:
    """A lesson's notebook; its exercises' grade cells are called by the exercises' ids."""
    return f"lesson{lesson}"


def answer_name(exercise: str) -> str:
    """The cell that a student writes an exercise's answer in."""
    return f"{exercise}-answer"
