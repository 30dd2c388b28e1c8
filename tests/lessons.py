"""One lesson of the course, for tests that need no more; lesson 7 without its homework, which needs other lessons."""

from __future__ import annotations

import re
from pathlib import Path

from autograder.catalogue import Course, Exercise

_LAST = "flash_attention"  # what follows it in its lesson is homework


def of_lesson(course: Course, number: int) -> tuple[Exercise, ...]:
    """The exercises of one lesson."""
    exercises = [exercise for exercise in course.exercises if exercise.lesson == number]
    ids = [exercise.id for exercise in exercises]
    return tuple(exercises[: ids.index(_LAST) + 1] if _LAST in ids else exercises)


def keep_lesson(root: Path, number: int) -> None:
    """Drop all other lessons, and their hidden cases, from the course at ``root``; their folders stay."""
    toml = root / "course" / "course.toml"
    head, *lessons = re.split(r"(?m)^(?=\[\[lesson\]\]$)", toml.read_text(encoding="utf-8"))
    kept = [lesson for lesson in lessons if re.search(rf"(?m)^number = {number}$", lesson)]
    assert len(kept) == 1
    kept[0] = re.sub(rf'(?s)("{_LAST}",\n).*?\]', r"\1]", kept[0])
    toml.write_text(head + kept[0], encoding="utf-8")
    hidden = root / "solutions" / "hidden.toml"
    first, *tables = re.split(r"(?m)^(?=\[\[\w+\.checks\]\]$)", hidden.read_text(encoding="utf-8"))
    ids = [table for table in tables if f'"{table[2 : table.index(".")]}"' in kept[0]]
    hidden.write_text(first + "".join(ids), encoding="utf-8")
