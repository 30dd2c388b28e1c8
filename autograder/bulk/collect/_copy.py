"""Files of one attempt -> a new folder: within the limits, and never under a name that leads elsewhere."""

from __future__ import annotations

import errno
import unicodedata
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import BinaryIO

from autograder.bulk.collect._limits import (
    MAX_ATTEMPT_BYTES,
    MAX_ATTEMPT_FILES,
    MAX_DEPTH,
    MAX_FILE_BYTES,
    MAX_NAME_BYTES,
    MB,
    is_bomb,
)
from autograder.bulk.collect._listing import leads_out
from autograder.bulk.collect._model import File, Parts, Placed
from autograder.handin._limits import Refused
from autograder.handin._names import show
from autograder.handin._zip import ZIP_TROUBLE

_CHUNK = 1 << 18
_BOMB = "was not unpacked: it is packed so tightly that it is taken for a zip bomb"
_NO_NAMES = frozenset({"Cc", "Cs", "Zl", "Zp"})  # escape codes, bytes that are no text, line ends to some
_BAD_NAME = frozenset({errno.ENAMETOOLONG, errno.EINVAL, errno.EILSEQ, errno.ENOTDIR, errno.EISDIR, errno.EEXIST})


@dataclass(slots=True)
class Copied:
    """How many files were copied, and ``(file, reason)`` of those that were not; both safe to print."""

    files: int = 0
    size: int = 0
    refused: list[tuple[str, str]] = field(default_factory=list)


def copy_attempt(files: Iterable[Placed], folder: Path) -> Copied:
    """Copy files into the new, empty ``folder``; one that is refused costs nothing but itself.

    Raises:
        OSError: the folder cannot be written to (a full disk, no permission).
    """
    copied = Copied()
    names = _Names()
    for placed in files:
        try:
            if placed.file.problem is not None:
                raise Refused(placed.file.problem)
            if copied.files >= MAX_ATTEMPT_FILES:
                raise Refused(f"was not copied: the hand-in has more than {MAX_ATTEMPT_FILES} files")
            _check_name(placed.parts)
            names.check(placed.parts)
            copied.size += _copy(placed.file, folder.joinpath(*placed.parts), MAX_ATTEMPT_BYTES - copied.size)
            names.add(placed.parts)
            copied.files += 1
        except Refused as refused:
            copied.refused.append((placed.file.shown, refused.reason))
    return copied


def _check_name(parts: Parts) -> None:
    if leads_out(parts):
        raise Refused("was not copied: its name leads out of the hand-in")
    if len(parts) > MAX_DEPTH:
        raise Refused(f"lies more than {MAX_DEPTH} folders deep")
    for part in parts:
        if "\\" in part:
            raise Refused("was not copied: its name has a backslash, which some systems take for a folder")
        if any(unicodedata.category(character) in _NO_NAMES for character in part):
            raise Refused("was not copied: its name holds control characters or bytes that are no text")
        if len(part.encode()) > MAX_NAME_BYTES:
            raise Refused("was not copied: its name is too long for a file system")


@dataclass(slots=True)
class _Names:
    """The names taken in one folder, so that no file replaces another on any file system."""

    files: dict[Parts, Parts] = field(default_factory=dict)
    folders: set[Parts] = field(default_factory=set)

    def check(self, parts: Parts) -> None:
        """Raise Refused for a name that meets another."""
        key, above = _key(parts)
        if (there := self.files.get(key)) is not None:
            how = "is there already" if there == parts else "differs only in upper and lower case or accents"
            raise Refused(f"was not copied: {show('/'.join(there))} {how}")
        if key in self.folders or not above.isdisjoint(self.files):
            raise Refused("was not copied: the same name is both a file and a folder")

    def add(self, parts: Parts) -> None:
        key, above = _key(parts)
        self.files[key] = parts
        self.folders |= above


def _key(parts: Parts) -> tuple[Parts, set[Parts]]:
    """What a name is on a file system that knows neither case nor accents apart, and the folders above it."""
    key = tuple(unicodedata.normalize("NFC", part.casefold()) for part in parts)
    return key, {key[:depth] for depth in range(1, len(key))}


def _copy(file: File, target: Path, left: int) -> int:
    """Copy one file and return its size; a file that is refused half-way leaves nothing."""
    _check_size(file.size, file.packed, left)
    try:
        stream = file.open()
    except ZIP_TROUBLE:
        raise Refused(_damaged(file)) from None
    with stream:
        try:
            target.parent.mkdir(parents=True, exist_ok=True)
            out = target.open("xb")
        except OSError as error:
            if error.errno in _BAD_NAME:
                raise Refused("was not copied: no file can have its name here") from None
            raise
        try:
            with out:
                return _pour(file, stream, out, left)
        except BaseException:
            target.unlink(missing_ok=True)
            raise


def _pour(file: File, stream: BinaryIO, out: BinaryIO, left: int) -> int:
    size = 0
    while True:
        try:
            chunk = stream.read(_CHUNK)
        except ZIP_TROUBLE:
            raise Refused(_damaged(file)) from None
        if not chunk:
            return size
        size += len(chunk)
        _check_size(size, file.packed, left)
        out.write(chunk)


def _check_size(size: int, packed: int | None, left: int) -> None:
    """Raise Refused for a size, claimed or reached, that is too much."""
    if size > MAX_FILE_BYTES:
        raise Refused(f"was not copied: it is over {MAX_FILE_BYTES // MB} MB")
    if is_bomb(size, packed):
        raise Refused(_BOMB)
    if size > left:
        raise Refused(f"was not copied: the hand-in is over {MAX_ATTEMPT_BYTES // MB} MB with it")


def _damaged(file: File) -> str:
    return "could not be read" if file.packed is None else "is damaged in the zip"
