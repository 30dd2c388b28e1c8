"""What a folder or a zip lists: items not yet read, after names that never count were passed over."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import BinaryIO

from autograder.handin._limits import Notes
from autograder.handin._names import (
    Kind,
    a_few,
    is_archive,
    is_backup,
    is_hidden,
    is_junk_folder,
    is_own_copy,
    kind_of,
    show,
    too_deep,
)

_LONGEST_NAME = 255  # of any file system; a zip may hold names of 64 kB


@dataclass(frozen=True, slots=True)
class Item:
    """One file that may be read. ``problem`` completes "<shown> ..." when it must not be opened."""

    shown: str
    folders: tuple[str, ...]
    name: str
    kind: Kind
    claimed_size: int
    on_disk: bool
    open: Callable[[], BinaryIO]
    problem: str | None = None


@dataclass(slots=True)
class Sieve:
    """Which names of a hand-in are looked at, and the sentences about the others."""

    notes: Notes
    backups: list[str] = field(default_factory=list)

    def kind(self, name: str, shown: str) -> Kind | None:
        """The kind of a file worth reading, or None; says why when a student may wonder."""
        if is_hidden(name) or len(name) > _LONGEST_NAME:
            return None
        kind = kind_of(name)
        if is_backup(name):
            if not is_own_copy(name):
                self.backups.append(shown)
            return None
        if kind is None and is_archive(name):
            self.notes.add(f"{shown} was not read: of archives only zip is; pack it as a .zip.")
        return kind

    def enters(self, folders: tuple[str, ...], shown: str) -> bool:
        """True when the innermost of ``folders`` is looked into."""
        if is_junk_folder(folders[-1]):
            return False
        if too_deep(folders):
            self.notes.add(f"{shown} was not looked into: it lies more than three folders deep.")
            return False
        return True

    def finish(self) -> None:
        """Say once which backups were ignored."""
        if self.backups:
            self.notes.add(f"Ignored as backups: {a_few(self.backups)}.")
            self.backups.clear()


def shown_path(prefix: str, parts: tuple[str, ...]) -> str:
    """``hw.zip!`` and ``("lesson7", "x.py")`` -> ``hw.zip!lesson7/x.py``, safe to print."""
    return prefix + "/".join(show(part) for part in parts)
