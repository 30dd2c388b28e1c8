"""The folder with a class's hand-ins: one folder or file a student, and what is in each as a hash."""

from __future__ import annotations

import hashlib
import os
import stat
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from autograder.bulk.hidden import is_perhaps_somebodys
from autograder.errors import UsageError
from autograder.protocol import printable

_FILES = (".py", ".ipynb", ".zip")
_CACHES = ("__pycache__", "__MACOSX")
_MOST_FILES = 5_000  # hashed; far more than are ever read
_MOST_SHOWN = 3  # entries in an error's sentence
_WHOLE = 32 * 1024**2  # a larger file is never read either: its size stands for its content
_CHUNK = 1 << 20
_LONGEST_NAME = 200  # bytes; with an ending, a result's file must have room for it


@dataclass(frozen=True, slots=True)
class HandInPath:
    """One student's hand-in; ``student`` is the name of the folder, or of the file without its ending."""

    student: str
    path: Path


def list_hand_ins(folder: Path) -> tuple[tuple[HandInPath, ...], tuple[str, ...]]:
    """The hand-ins in ``folder``, by id, and sentences about entries that are none.

    Raises:
        UsageError: there is no such folder, nothing is in it, or two entries have one id.
    """
    try:
        entries = sorted(folder.absolute().iterdir())  # a cluster's workers may stand in other folders
    except OSError as error:
        raise UsageError(f"The folder {folder} cannot be read ({(error.strerror or str(error)).lower()}).") from None
    found: dict[str, HandInPath] = {}
    notes = []
    for entry in entries:
        shown = printable(entry.name).replace("\n", "\\n")
        try:
            student, note = _whose(entry, shown)
        except OSError as error:  # a folder that may be listed and not entered
            note = f"{shown} cannot be looked at ({(error.strerror or str(error)).lower()})."
        if note:
            notes.append(note)
            continue
        if not student:
            continue
        student = printable(student).replace("\n", "\\n")
        if len(os.fsencode(student)) > _LONGEST_NAME:  # as it is written: what stands for a character may be longer
            notes.append(f"{shown} was left out: its name is too long for a file of results. Give it a shorter one.")
            continue
        if student in found:
            raise UsageError(
                f"{folder} has two hand-ins for {student}: {printable(found[student].path.name)} and "
                f"{printable(entry.name)}. Remove or rename one of them."
            )
        found[student] = HandInPath(student, entry)
    if not found:
        raise UsageError(_nobody(folder, notes))
    return tuple(found[student] for student in sorted(found)), tuple(notes)


def _whose(entry: Path, shown: str) -> tuple[str, str]:
    """Whose an entry is; or a sentence on why it is nobody's; or neither, where that is not worth a word."""
    if entry.name.startswith("."):
        hidden = f"{shown} was left out: its name begins with a dot. If it is a hand-in, rename it."
        return "", hidden if is_perhaps_somebodys(entry.name, entry.is_dir()) else ""
    if entry.is_symlink():
        return "", f"{shown} is a link, and links are not followed: put the folder or file itself there."
    if entry.is_dir():
        return entry.name, ""
    if entry.is_file() and entry.suffix.lower() in _FILES:
        return entry.stem, ""
    return "", f"{shown} is no hand-in: neither a folder nor a .py, .ipynb or .zip."


def _nobody(folder: Path, notes: Sequence[str]) -> str:
    """That there is no hand-in, and what was left out: somebody may be among it."""
    more = len(notes) - _MOST_SHOWN
    left_out = [*notes[:_MOST_SHOWN], *([f"{more} more entries are none either."] if more > 0 else [])]
    what = "It must hold one folder or file a student; `course collect` makes it from an LMS download."
    return " ".join([f"There are no hand-ins in {folder}.", *left_out, what])


def fingerprint(path: Path) -> str:
    """A hash of names and contents of a hand-in; links are not followed, and count by their name alone.

    Hidden files and Python's caches, from which no hand-in is read, count nothing: they come of looking into a folder.
    """
    found = hashlib.sha256()
    if path.is_file():
        _add(found, path.name, path)
        return found.hexdigest()
    count = 0
    for base, folders, files in os.walk(path, followlinks=False):
        folders[:] = sorted(name for name in folders if not name.startswith(".") and name not in _CACHES)
        for name in sorted(name for name in files if not name.startswith(".")):
            count += 1
            if count > _MOST_FILES:
                found.update(b"more")
                return found.hexdigest()
            place = Path(base) / name
            _add(found, os.fsencode(place.relative_to(path)).decode("utf-8", "backslashreplace"), place)
    return found.hexdigest()


def _add(found: hashlib._Hash, name: str, path: Path) -> None:
    found.update(f"\0{name}\0".encode())
    try:
        status = path.lstat()
        if not stat.S_ISREG(status.st_mode):
            found.update(f"mode {stat.S_IFMT(status.st_mode)}".encode())
            return
        found.update(f"{status.st_size}\0".encode())
        if status.st_size > _WHOLE:
            return
        with path.open("rb") as stream:
            while chunk := stream.read(_CHUNK):
                found.update(chunk)
    except OSError as error:
        found.update(f"unreadable {error.errno}".encode())
