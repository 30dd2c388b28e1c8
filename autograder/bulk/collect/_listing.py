"""All files of a download, from a folder or a zip, and the folders that wrap them."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass, replace

from autograder.bulk.collect._model import File, Parts, Top
from autograder.bulk.hidden import is_perhaps_somebodys
from autograder.handin._names import Kind, is_hidden, is_junk_folder, kind_of, lesson_of

_DRIVE = re.compile(r"[A-Za-z]:")
_LITTER = frozenset({"thumbs.db", "desktop.ini"})
_MAX_WRAPPERS = 3


@dataclass(frozen=True, slots=True)
class Listing:
    """The files of a download, its folders, which may be empty, and what is hidden and may be a hand-in."""

    files: tuple[File, ...]
    folders: frozenset[Parts] = frozenset()
    hidden: frozenset[Parts] = frozenset()

    def tops(self) -> tuple[Top, ...]:
        """The entries at the top, sorted by name."""
        below: dict[str, list[File]] = {folder[0]: [] for folder in self.folders if folder}
        single: list[Top] = []
        for file in self.files:
            if len(file.parts) == 1:
                single.append(Top(file.parts[0], False, (file,)))
            else:
                below.setdefault(file.parts[0], []).append(file)
        tops = [*single, *(Top(name, True, tuple(files)) for name, files in below.items())]
        return tuple(sorted(tops, key=lambda top: (top.name, top.is_folder)))

    def inside(self, name: str) -> Listing:
        """What the folder ``name`` at the top holds."""
        files = (replace(file, parts=file.parts[1:]) for file in self.files if file.parts[0] == name)
        folders = frozenset(folder[1:] for folder in self.folders if folder[0] == name and len(folder) > 1)
        hidden = frozenset(parts[1:] for parts in self.hidden if parts[0] == name and len(parts) > 1)
        return Listing(tuple(files), folders, hidden)

    def strays(self) -> tuple[Listing, tuple[File, ...]]:
        """Without the entries whose names lead out of the download, and those."""
        out = tuple(file for file in self.files if leads_out(file.parts[:1]))
        kept = tuple(file for file in self.files if not leads_out(file.parts[:1]))
        folders = frozenset(folder for folder in self.folders if not leads_out(folder))
        return Listing(kept, folders, self.hidden), out


def leads_out(parts: Iterable[str]) -> bool:
    """True for an absolute path, a drive, and for ``..`` anywhere."""
    parts = tuple(parts)
    return not parts or any(part in {"", ".."} for part in parts) or _DRIVE.match(parts[0]) is not None


def is_litter(parts: Parts) -> bool:
    """True for what file managers and tools leave behind: never part of a hand-in, and not worth a word.

    A name that tries to lead elsewhere is none of it, and is refused where it is read.
    At the top a folder is a student's, whatever its name, unless it is hidden or from macOS.
    """
    if leads_out(parts) or any("\\" in part for part in parts):
        return False
    top, *folders = parts[:-1] or ("",)
    if is_hidden(parts[-1]) or parts[-1].lower() in _LITTER or is_hidden(top) or top.lower() == "__macosx":
        return True
    return any(is_junk_folder(folder) for folder in folders)


def hidden_part(parts: Parts, is_folder: bool) -> Parts | None:
    """The path down to the first hidden name, if that may be a hand-in."""
    for depth, name in enumerate(parts, 1):
        if is_hidden(name):
            return parts[:depth] if is_perhaps_somebodys(name, is_folder or depth < len(parts)) else None
    return None


def wrapped(listing: Listing) -> tuple[tuple[str, Listing], ...]:
    """The listing, and, as long as it is one single folder, what is inside it; each with the path that led there."""
    found = [("", listing)]
    while len(found) <= _MAX_WRAPPERS:
        path, inner = found[-1]
        tops = inner.tops()
        if len(tops) != 1 or not tops[0].is_folder:
            break
        found.append((f"{path}{tops[0].name}/", inner.inside(tops[0].name)))
    return tuple(found)


def looks_like_a_class(listing: Listing) -> bool:
    """Whether a listing is more likely the folders and zips of several students than the files of one."""
    tops = listing.tops()
    whole = all(top.is_folder or kind_of(top.name) is Kind.ZIP for top in tops)
    return whole and len(tops) > 1 and all(lesson_of(top.name.partition(".")[0]) is None for top in tops)
