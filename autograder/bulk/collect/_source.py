"""SOURCE, a zip or a folder -> a listing of its files.  No header is believed, no link is followed."""

from __future__ import annotations

import io
import os
import stat
import struct
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from itertools import islice
from pathlib import Path
from typing import IO, BinaryIO, cast

from autograder.bulk.collect._limits import MAX_DEPTH, MAX_ENTRIES, MAX_LIST_BYTES, MAX_TOP_ENTRIES
from autograder.bulk.collect._listing import Listing, hidden_part, is_litter
from autograder.bulk.collect._model import File, Parts
from autograder.errors import UsageError
from autograder.handin._folder import LINK, NOT_REGULAR, open_regular
from autograder.handin._limits import Refused
from autograder.handin._names import show
from autograder.handin._zip import ZIP_TROUBLE, _clear_utf8_flag, _name, _NoGulps, _problem

_ENTRY = struct.Struct("<4s24x3H12x")  # signature; lengths of name, extra field and comment
_SIGNATURE = b"PK\x01\x02"
_WHAT = "Give the zip that the LMS made, or the folder that it was unpacked to."


@contextmanager
def open_source(path: Path) -> Iterator[Listing]:
    """The files of ``path``, which can be opened as long as the context lasts.

    Raises:
        UsageError: there is no such file, or it is neither a folder nor a zip that can be read.
    """
    try:
        real = path.resolve(strict=True)
        mode = real.stat().st_mode
    except (OSError, RuntimeError, ValueError):
        raise UsageError(f"There is no file or folder {show(str(path))}. {_WHAT}") from None
    if stat.S_ISDIR(mode):
        yield _list_folder(real)
        return
    try:
        stream = open_regular(str(real))
    except Refused as refused:
        raise UsageError(f"{show(str(path))} {refused.reason}. {_WHAT}") from None
    with stream, _open_zip(path, stream) as archive:
        yield _list_zip(archive)


def _list_folder(root: Path) -> Listing:
    try:
        with os.scandir(root) as scan:
            entries = sorted(islice(scan, MAX_ENTRIES), key=lambda entry: entry.name)
    except OSError as error:
        raise UsageError(f"{show(str(root))} cannot be looked into ({_told(error)}).") from None
    walk = _Walk()
    for entry in entries:
        walk.left = MAX_TOP_ENTRIES
        walk.visit(entry, ())
        if walk.left <= 0:
            problem = f"was not looked at to the end: it has more than {MAX_TOP_ENTRIES} entries"
            walk.files.append(_file(entry, (entry.name, ""), problem))
    return Listing(tuple(walk.files), frozenset(walk.folders), frozenset(walk.hidden))


@dataclass(slots=True)
class _Walk:
    """What was found; ``left`` is how many entries may still be looked at."""

    files: list[File] = field(default_factory=list)
    folders: set[Parts] = field(default_factory=set)
    hidden: set[Parts] = field(default_factory=set)
    left: int = 0

    def visit(self, entry: os.DirEntry[str], above: Parts) -> None:
        """Take in an entry and all below it."""
        parts = (*above, entry.name)
        is_folder = entry.is_dir(follow_symlinks=False)
        self.left -= 1
        if self.left <= 0:
            return
        if is_litter((*parts, "_") if is_folder else parts):
            if (hidden := hidden_part(parts, is_folder)) is not None:
                self.hidden.add(hidden)
            return
        if entry.is_symlink():
            self.files.append(_file(entry, parts, LINK))
        elif is_folder:
            self._enter(entry, parts)
        else:
            self.files.append(_file(entry, parts, None if entry.is_file(follow_symlinks=False) else NOT_REGULAR))

    def _enter(self, entry: os.DirEntry[str], parts: Parts) -> None:
        if len(parts) > MAX_DEPTH:
            self.files.append(_file(entry, parts, f"lies more than {MAX_DEPTH} folders deep"))
            return
        self.folders.add(parts)
        try:
            with os.scandir(entry.path) as scan:
                inside = sorted(islice(scan, self.left), key=lambda one: (one.is_dir(follow_symlinks=False), one.name))
        except OSError as error:
            self.files.append(_file(entry, (*parts, ""), f"could not be looked into ({_told(error)})"))
            return
        for one in inside:
            self.visit(one, parts)


def _file(entry: os.DirEntry[str], parts: Parts, problem: str | None) -> File:
    try:
        size = entry.stat(follow_symlinks=False).st_size
    except OSError:
        size = 0
    shown = show("/".join(part for part in parts if part))
    return File(parts, shown, size, None, partial(open_regular, entry.path), problem)


def _told(error: OSError) -> str:
    return (error.strerror or "unknown error").lower()


@contextmanager
def _open_zip(path: Path, stream: BinaryIO) -> Iterator[zipfile.ZipFile]:
    reader = _ListReader(stream)
    try:
        archive = zipfile.ZipFile(cast("IO[bytes]", reader))
    except (*ZIP_TROUBLE, UnicodeDecodeError):
        raise UsageError(
            f"{show(str(path))} is not a zip that can be read (it is damaged, cut short, or none at all). "
            "Download it again, or unpack it and give the folder."
        ) from None
    reader.listed = True
    with archive:
        if len(archive.infolist()) > MAX_ENTRIES:
            raise UsageError(f"{show(str(path))} has more than {MAX_ENTRIES} entries. Unpack it and give a part of it.")
        yield archive


def _list_zip(archive: zipfile.ZipFile) -> Listing:
    """Of entries with the same name the last counts, as it does for the tools that unpack."""
    files: dict[Parts, File] = {}
    doubles: list[File] = []
    folders: set[Parts] = set()
    hidden: set[Parts] = set()
    for info in archive.infolist():
        name = _name(info)
        mode = stat.S_IFMT(info.external_attr >> 16)
        first, *rest = name.split("/")
        # "./jane/x.py" and "jane//x.py" are harmless; an empty first part is an absolute path.
        parts = tuple(part for part in (first, *rest) if part != ".")
        parts = parts[:1] + tuple(part for part in parts[1:] if part)
        if not parts:
            continue
        if is_litter((*parts, "_") if name.endswith("/") else parts):
            if (hidden_here := hidden_part(parts, name.endswith("/"))) is not None:
                hidden.add(hidden_here)
            continue
        if name.endswith("/") or mode == stat.S_IFDIR:
            folders.add(parts)
            continue
        problem = _problem(info, mode)
        if "\0" in info.orig_filename:
            problem = "has a NUL in its name"
        shown = show(info.orig_filename if problem else name)
        opener = cast("partial[BinaryIO]", partial(archive.open, info))
        if parts in files:
            problem_before = "is in the zip more than once; the last one counts"
            before = files[parts]
            doubles.append(File(parts, before.shown, before.size, before.packed, before.open, problem_before))
        files[parts] = File(parts, shown, info.file_size, info.compress_size, opener, problem)
    return Listing((*doubles, *files.values()), frozenset(folders), frozenset(hidden))


class _ListReader(_NoGulps):
    """The file of a zip: its list of entries is bounded, and a name in it that is no UTF-8 costs only itself.

    zipfile gives up on a whole zip if one name calls itself UTF-8 and is not: until the list is read, that flag is
    taken off such names.
    """

    def __init__(self, stream: BinaryIO) -> None:
        super().__init__(stream)
        self.listed = False
        self._end = stream.seek(0, io.SEEK_END)

    def read(self, size: int = -1, /) -> bytes:
        left = max(0, self._end - self.tell())  # asked for more, a stream sets that much memory aside
        size = left if size < 0 else min(size, left)
        if size > MAX_LIST_BYTES:
            raise zipfile.BadZipFile("the list of entries is too long")
        data = self._stream.read(size)
        return data if self.listed or not data.startswith(_SIGNATURE) else _without_false_flags(data)


def _without_false_flags(data: bytes) -> bytes:
    mended = bytearray(data)
    start = 0
    while start + _ENTRY.size <= len(data):
        signature, name, extra, comment = _ENTRY.unpack_from(data, start)
        if signature != _SIGNATURE:
            break
        _clear_utf8_flag(mended, start + 8, start + 28, start + _ENTRY.size)
        start += _ENTRY.size + name + extra + comment
    return bytes(mended)
