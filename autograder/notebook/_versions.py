"""Earlier versions of a stub file, byte for byte, and which exercise's change each of them was replaced by."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from pathlib import Path

_NAME = re.compile(r"(\d+)(?:\.([\w+-]+)\.([0-9a-f]{16}|kept))?\.py")
_KEPT = "kept"  # in no exercise's way any more, and left for whoever looks for it


@dataclass(frozen=True, slots=True)
class Version:
    """What a file held before a change; ``exercises`` are those whose change it was, ``made`` the digest of what came.

    Without ``made`` it is not known what came.
    """

    path: Path
    number: int
    exercises: frozenset[str]
    made: str

    def was_before(self, data: bytes) -> bool:
        """Whether ``data`` is what the change made of it, so that nothing else has happened since."""
        return self.made == digest(data)


class Versions:
    """The versions in one folder, of one file that holds the exercises ``owners``; at most ``limit`` stay."""

    def __init__(self, folder: Path, owners: Collection[str], limit: int) -> None:
        self._folder = folder
        self._owners = frozenset(owners)
        self._limit = limit

    def newest(self, exercise: str) -> Version | None:
        """The one that a change of this exercise replaced last."""
        return next((version for version in reversed(self._all()) if exercise in version.exercises), None)

    def keep(self, data: bytes, exercises: Collection[str], made: bytes) -> None:
        """Keep what is about to be replaced by ``made``; the oldest go.

        Raises:
            OSError: it cannot be written.
        """
        there = self._all()
        number = there[-1].number + 1 if there else 1
        self._folder.mkdir(parents=True, exist_ok=True)
        (self._folder / _name(number, exercises, digest(made))).write_bytes(data)
        for old in there[: max(0, len(there) + 1 - self._limit)]:
            old.path.unlink(missing_ok=True)

    def done_with(self, version: Version, exercises: Collection[str], is_there: bool) -> None:
        """These exercises have gone back to it; it goes only if all of it ``is_there``, in the file itself.

        Raises:
            OSError: it cannot be renamed or removed.
        """
        left = version.exercises - frozenset(exercises)
        if left:
            name = _name(version.number, left, version.made or digest(b""))
        elif is_there:
            version.path.unlink(missing_ok=True)
            return
        else:
            name = _name(version.number, version.exercises, _KEPT)
        version.path.rename(self._folder / name)

    def _all(self) -> Sequence[Version]:
        found = []
        for path in self._folder.glob("*.py"):
            if (match := _NAME.fullmatch(path.name)) is not None:
                number, exercises, made = match.groups()
                owners = frozenset(exercises.split("+")) if exercises else self._owners
                found.append(Version(path, int(number), frozenset() if made == _KEPT else owners, made or ""))
        return sorted(found, key=lambda version: version.number)


def digest(data: bytes) -> str:
    """Sixteen characters that tell one content of a file from another."""
    return hashlib.sha256(data).hexdigest()[:16]


def _name(number: int, exercises: Collection[str], made: str) -> str:
    return f"{number:06d}.{'+'.join(sorted(exercises))}.{made}.py"
