"""The folder of a class: each student's folder replaced whole or not at all, and earlier attempts kept.

<student>/                  the latest attempt
.attempts/<student>/<n>/    the attempts before it, 1 the first that was collected
.attempts/.index.json       which student of the LMS each folder is, and the order of the attempt in it
.collected.json             who handed in what, for grading
.collecting-*/              being copied; what a killed run leaves of it is removed by the next
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from autograder.bulk.collect._index import INDEX, KEPT, Known, save_index
from autograder.bulk.submissions import COLLECTED, Submission, save
from autograder.errors import UsageError

if TYPE_CHECKING:
    from hashlib import _Hash

_CHUNK = 1 << 20

NEW, UPDATED, UNCHANGED, OLDER, EMPTY = "new", "updated", "unchanged", "older", "empty"


@dataclass(frozen=True, slots=True)
class Made:
    """An attempt that was copied to a folder beside the students, ready to be put in its place."""

    folder: Path
    order: int | float | None


class Target:
    """The folder of a class; made by `claim`, which sees to it that it is nobody else's."""

    def __init__(
        self, out: Path, scratch: Path, known: Mapping[str, Known], submissions: Mapping[str, Submission]
    ) -> None:
        self.submissions = dict(submissions)
        self._out = out
        self._scratch = scratch
        self._known = dict(known)
        self._copies = 0

    @property
    def ids(self) -> Mapping[str, str]:
        """The id of each student ever collected, by the student's key."""
        return {known.key: student for student, known in self._known.items()}

    def expect(self, keys: Mapping[str, str]) -> None:
        """Note, before a folder is made, that the folders of these ids are ours; ``keys`` are their keys by id."""
        for student, key in keys.items():
            self._known.setdefault(student, Known(key))
        save_index(self._out / KEPT / INDEX, self._known)

    def save(self) -> None:
        """Write who handed in what."""
        save_index(self._out / KEPT / INDEX, self._known)
        save(self._out / COLLECTED, self.submissions)

    def folder(self, student: str) -> Path:
        """Where a student's latest attempt is."""
        return self._out / student

    def new_folder(self) -> Path:
        """An empty folder to copy to, on the same file system."""
        self._copies += 1
        folder = self._scratch / str(self._copies)
        folder.mkdir()
        return folder

    def attempts(self, student: str) -> int:
        """How many attempts are here, the one in the student's folder included."""
        return len(self._kept(student)) + 1

    def place(self, student: str, made: Sequence[Made]) -> str:
        """Put the attempts, the latest last and none empty, in their places; returns what came of the folder."""
        current = self._out / student
        if current.is_dir() and not any(current.iterdir()) and made:
            current.rmdir()
        if not made:
            if not current.is_dir():
                self.new_folder().rename(current)
            return UNCHANGED if any(current.iterdir()) else EMPTY
        there = _digest(current) if current.is_dir() else None
        *earlier, latest = made
        digests = {one.folder: _digest(one.folder) for one in made}
        kept = {_digest(folder) for folder in self._kept(student).values()}
        unseen = {digests[one.folder]: one for one in earlier if digests[one.folder] not in {*kept, there}}
        order = self._known[student].order
        if there == digests[latest.folder]:
            self._keep(student, unseen.values())
            self._note_order(student, order if latest.order is None else latest.order)
            return UNCHANGED
        if there is not None and _is_before(latest.order, order):
            if digests[latest.folder] not in kept:
                unseen[digests[latest.folder]] = latest
            self._keep(student, unseen.values())
            return OLDER
        waiting = list(unseen.values())
        if there is not None:
            order = next((one.order for one in earlier if digests[one.folder] == there), order)
            waiting.insert(sum(_is_before(one.order, order) for one in waiting), Made(current, order))
        self._keep(student, waiting)
        latest.folder.rename(current)
        self._note_order(student, latest.order)
        return NEW if there is None else UPDATED

    def _note_order(self, student: str, order: int | float | None) -> None:
        self._known[student] = Known(self._known[student].key, order)

    def _kept(self, student: str) -> dict[int, Path]:
        place = self._out / KEPT / student
        if place.is_symlink():
            raise UsageError(f"{place} is a link, and nothing is written outside of --out. Remove the link.")
        if not place.is_dir():
            return {}
        numbered = ((path.name, path) for path in place.iterdir())
        return {int(name): path for name, path in numbered if name.isascii() and name.isdigit()}

    def _keep(self, student: str, made: Iterable[Made]) -> None:
        place = self._out / KEPT / student
        for number, one in enumerate(made, start=max(self._kept(student), default=0) + 1):
            place.mkdir(exist_ok=True)
            one.folder.rename(place / str(number))


def _is_before(one: int | float | None, other: int | float | None) -> bool:
    """Whether an attempt came before another; False if nobody knows."""
    return one is not None and other is not None and one < other


def _digest(folder: Path) -> str:
    """Names and contents of all files below a folder."""
    found = hashlib.sha256()
    for base, folders, files in os.walk(folder):
        folders.sort()
        for name in sorted(files):
            place = Path(base, name)
            found.update(os.fsencode(place.relative_to(folder)) + b"\0")
            if place.is_symlink() or not place.is_file():
                found.update(b"other\0")
            else:
                _add(found, place)
    return found.hexdigest()


def _add(found: _Hash, path: Path) -> None:
    own = hashlib.sha256()
    with path.open("rb") as stream:
        while chunk := stream.read(_CHUNK):
            own.update(chunk)
    found.update(own.digest())
