"""The instructor's comments on a hand-in: a text file a student, with a heading for each exercise if wanted.

``comments/<student>.md`` or ``.txt`` in the folder of the results.  It is plain text: blank lines part paragraphs, and
what follows a line ``## exercise_id`` is shown with that exercise.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from autograder.errors import UsageError

FOLDER = "comments"
ENDINGS = (".md", ".txt")

_HEADING = re.compile(r"##\s+(\S+)\s*#*\s*")
_BLANK = re.compile(r"\n[ \t]*(?:\n[ \t]*)+")


@dataclass(frozen=True, slots=True)
class Comments:
    """Paragraphs: on the whole hand-in, and by exercise id; ``strays`` are headings that are no exercise's."""

    general: tuple[str, ...] = ()
    exercises: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    strays: tuple[str, ...] = ()


def read_comments(out: Path, student: str, exercises: Collection[str]) -> Comments:
    """The comments on one student; empty if there are none.  A heading of no known exercise is ordinary text.

    Raises:
        UsageError: the file is there and cannot be read.
    """
    texts = [_read(out / FOLDER / f"{student}{ending}") for ending in ENDINGS]
    general: list[str] = []
    found: dict[str, list[str]] = {}
    strays: list[str] = []
    for text in texts:
        target = general
        target.append("")
        for line in text.split("\n"):
            heading = _HEADING.fullmatch(line)
            if heading and heading[1] in exercises:
                target = found.setdefault(heading[1], [])
                target.append("")
            else:
                strays += [heading[1]] if heading else []
                target.append(line)
    by_exercise = {name: parts for name, lines in found.items() if (parts := _paragraphs(lines))}
    return Comments(_paragraphs(general), by_exercise, tuple(dict.fromkeys(strays)))


def strangers(out: Path, students: Collection[str]) -> tuple[str, ...]:
    """Names of comment files that belong to nobody."""
    if not (out / FOLDER).is_dir():
        return ()
    files = sorted(path for path in (out / FOLDER).iterdir() if path.suffix in ENDINGS and path.name[0] != ".")
    return tuple(path.name for path in files if path.stem not in students)


def _paragraphs(lines: list[str]) -> tuple[str, ...]:
    parts = _BLANK.split("\n".join(lines))
    return tuple(part.strip("\n").rstrip() for part in parts if part.strip())


def _read(path: Path) -> str:
    try:
        text = path.read_bytes().decode("utf-8-sig")
    except FileNotFoundError:
        return ""
    except OSError as error:
        raise UsageError(f"The comments {path} cannot be read ({(error.strerror or str(error)).lower()}).") from None
    except UnicodeDecodeError:
        raise UsageError(f"The comments {path} are not UTF-8. Save them as UTF-8 and try again.") from None
    return text.replace("\r\n", "\n").replace("\r", "\n")
