"""Files on disk: what a folder holds, and opening regular files and nothing else."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from functools import partial
from itertools import islice
from pathlib import Path
from typing import BinaryIO

from autograder.handin._items import Item, Sieve, shown_path
from autograder.handin._limits import MAX_ENTRIES, Budget, Refused
from autograder.handin._names import kind_of

LINK = "is a link, and links are not followed; hand in the file itself"
NOT_REGULAR = "is not a regular file but a pipe, socket or device"

# O_NONBLOCK: opening a FIFO must not wait for a writer. O_NOFOLLOW, O_NONBLOCK do not exist on Windows.
_FLAGS = os.O_RDONLY
for _name in ("O_NOFOLLOW", "O_NONBLOCK", "O_CLOEXEC", "O_NOCTTY", "O_BINARY"):
    _FLAGS |= getattr(os, _name, 0)


def open_regular(path: str) -> BinaryIO:
    """A regular file opened for reading; raises Refused for links, pipes, devices and no permission."""
    try:
        descriptor = os.open(path, _FLAGS)
    except OSError as error:
        if os.path.islink(path):
            raise Refused(LINK) from None
        raise Refused(f"could not be read ({(error.strerror or 'unknown error').lower()})") from None
    if not stat.S_ISREG(os.fstat(descriptor).st_mode):
        os.close(descriptor)
        raise Refused(NOT_REGULAR)
    return os.fdopen(descriptor, "rb")


def list_folder(root: Path, sieve: Sieve, budget: Budget) -> list[Item]:
    """Every file below ``root`` that is worth reading, at most three wrapper folders deep."""
    return list(_walk(str(root), (), sieve, budget))


def _walk(path: str, folders: tuple[str, ...], sieve: Sieve, budget: Budget) -> Iterator[Item]:
    for entry in _entries(path, folders, sieve, budget):
        parts = (*folders, entry.name)
        shown = shown_path("", parts)
        if entry.is_symlink():
            yield from _irregular(entry, folders, shown, LINK, sieve)
        elif entry.is_dir(follow_symlinks=False):
            if sieve.enters(parts, shown):
                yield from _walk(entry.path, parts, sieve, budget)
        elif not entry.is_file(follow_symlinks=False):
            yield from _irregular(entry, folders, shown, NOT_REGULAR, sieve)
        elif kind := sieve.kind(entry.name, shown):
            yield Item(shown, folders, entry.name, kind, _size(entry), True, partial(open_regular, entry.path))


def _entries(path: str, folders: tuple[str, ...], sieve: Sieve, budget: Budget) -> list[os.DirEntry[str]]:
    shown = shown_path("", folders) or "The folder"
    try:
        with os.scandir(path) as scan:
            entries = list(islice(scan, budget.entries + 1))
    except OSError as error:
        sieve.notes.add(f"{shown} could not be looked into ({(error.strerror or 'unknown error').lower()}).")
        return []
    if len(entries) > budget.entries:
        sieve.notes.add(f"Not all of the hand-in was looked at: it has more than {MAX_ENTRIES} entries.")
    entries = entries[: budget.entries]
    budget.entries -= len(entries)
    # Files before folders: if the bound is reached, it is in the depths.
    return sorted(entries, key=lambda entry: (entry.is_dir(follow_symlinks=False), entry.name))


def _irregular(
    entry: os.DirEntry[str], folders: tuple[str, ...], shown: str, problem: str, sieve: Sieve
) -> Iterator[Item]:
    """A link or pipe with the name of a source is an item that is refused; any other is only named."""
    if entry.name.startswith("."):
        return
    if kind := kind_of(entry.name):
        yield Item(shown, folders, entry.name, kind, 0, True, partial(open_regular, entry.path), problem)
    else:
        sieve.notes.add(f"{shown} {problem}.")


def _size(entry: os.DirEntry[str]) -> int:
    try:
        return entry.stat(follow_symlinks=False).st_size
    except OSError:
        return 0
