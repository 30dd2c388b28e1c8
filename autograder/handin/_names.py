"""File and folder names: how they are shown, what they say, which ones are passed over."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum

MAX_SHOWN = 255
MAX_WRAPPERS = 3

_JUNK_FOLDERS = frozenset({"__pycache__", "__macosx", "node_modules", "venv", "env", "site-packages"})
_ARCHIVE = re.compile(r"\.(?:tar|tgz|tbz2?|txz|gz|bz2|xz|zst|7z|rar)$", re.IGNORECASE)
_BACKUP = re.compile(
    r"~$|^#.*#$|\.(?:py|ipynb|zip)\.?(?:bak.*|backup.*|orig|old|rej|save|swp|swo|tmp|part|crdownload)$",
    re.IGNORECASE,
)
_LESSON = re.compile(r"lesson[ _-]?0*([0-9]{1,4})", re.IGNORECASE | re.ASCII)
# What browsers, file managers, Google Drive and Canvas make of a name that is taken already.
_COPY_SUFFIX = re.compile(
    r"(.+?)(?: ?\(([0-9]{1,4})\)|-([0-9]{1,4})| - copy(?: \([0-9]+\))?| ?\(copy\)| copy)", re.IGNORECASE
)
_COPY_PREFIX = re.compile(r"copy of (.+)", re.IGNORECASE)


class Kind(StrEnum):
    """What is done with a file, by the end of its name."""

    PYTHON = ".py"
    NOTEBOOK = ".ipynb"
    ZIP = ".zip"


@dataclass(frozen=True, slots=True)
class CopyName:
    """A name taken apart: ``flash (2).py`` is copy 2 of ``flash.py``; number 0 is no copy at all."""

    plain: str
    number: int


def show(name: str) -> str:
    """``name`` on one short line that cannot move the cursor, colour a terminal or reverse text."""
    out = "".join(_show_character(character) for character in name[: MAX_SHOWN + 1])
    return out if len(name) <= MAX_SHOWN else out[:MAX_SHOWN] + "..."


def _show_character(character: str) -> str:
    # Cc: escape codes; Cf: bidi overrides; Cs: bytes that are not UTF-8; Zl, Zp: line breaks to some.
    if unicodedata.category(character) in {"Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp"}:
        return character.encode("unicode_escape").decode("ascii")
    return character


def a_few(names: Sequence[str]) -> str:
    """``a, b, c and 7 more``."""
    return ", ".join(names[:3]) + (f" and {len(names) - 3} more" if len(names) > 3 else "")


def kind_of(name: str) -> Kind | None:
    """The kind of a file that is read, or None."""
    lowered = name.lower()
    return next((kind for kind in Kind if lowered.endswith(kind.value)), None)


def is_archive(name: str) -> bool:
    """True for archives that are not zips."""
    return _ARCHIVE.search(name) is not None


def is_own_copy(name: str) -> bool:
    """A copy that `grade reset` made: it is there for the student, and needs no remark."""
    return re.search(r"\.bak-\d{8}-\d{6}(?:-\d+)?$", name) is not None


def is_backup(name: str) -> bool:
    """True for what editors and version control leave beside a file that is read."""
    return _BACKUP.search(name) is not None


def is_hidden(name: str) -> bool:
    """True for files that their owner does not see (``._x.py`` of macOS, ``.#x.py`` of Emacs)."""
    return name.startswith(".")


def is_junk_folder(name: str) -> bool:
    """True for folders that never hold a hand-in: caches, checkpoints, environments, everything hidden."""
    return name.startswith(".") or name.lower() in _JUNK_FOLDERS


def lesson_of(folder: str) -> int | None:
    """7 for ``lesson7``, and for ``Lesson 07`` and the like."""
    match = _LESSON.fullmatch(folder)
    return int(match[1]) if match else None


def explicit_lesson(folders: tuple[str, ...]) -> int | None:
    """The lesson of the innermost lesson folder, or None."""
    return next((lesson for folder in reversed(folders) if (lesson := lesson_of(folder)) is not None), None)


def too_deep(folders: tuple[str, ...]) -> bool:
    """True when more than three folders have to be looked through; one lesson folder among them is free."""
    lessons = sum(lesson_of(folder) is not None for folder in folders)
    return len(folders) - min(lessons, 1) > MAX_WRAPPERS


def copy_name(name: str) -> CopyName:
    """Take the marks of a copy off: ``x (1).py``, ``Copy of x.py``, ``x - Copy.py``, Canvas's ``x-1.py``."""
    stem, dot, end = name.rpartition(".")
    number = 0
    if prefix := _COPY_PREFIX.fullmatch(stem):
        stem, number = prefix[1], 1
    if suffix := _COPY_SUFFIX.fullmatch(stem):
        stem, number = suffix[1], max(1, int(suffix[2] or suffix[3] or 1))
    return CopyName(stem + dot + end, number)
