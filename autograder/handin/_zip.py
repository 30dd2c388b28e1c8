"""What a zip holds. Nothing is ever unpacked to disk, and no header is believed."""

from __future__ import annotations

import io
import re
import stat
import struct
import zipfile
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from itertools import islice
from typing import IO, BinaryIO, cast

from autograder.handin._folder import LINK, NOT_REGULAR
from autograder.handin._items import Item, Sieve, shown_path
from autograder.handin._limits import MAX_ENTRIES, MAX_HANDIN_BYTES, MAX_ZIP_LIST_BYTES, Refused
from autograder.handin._names import show

# Everything zipfile and its decompressors raise on hostile bytes; checked by feeding them random ones.
ZIP_TROUBLE = (
    zipfile.BadZipFile,
    zlib.error,
    struct.error,
    NotImplementedError,
    RuntimeError,
    EOFError,
    OverflowError,
    OSError,
    ValueError,
)

# bzip2 and LZMA are left out: zipfile gives them no limit, so that 4 kB of input may become 100 MB at once.
_METHODS = frozenset({zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED})
_ENCRYPTED = 0x1 | 0x40
_UTF8_NAME = 0x800
_DRIVE = re.compile(r"[A-Za-z]:")
_OTHER_ARCHIVES = (
    (b"Rar!", "a rar archive"),
    (b"7z\xbc\xaf", "a 7z archive"),
    (b"\x1f\x8b", "a gzip archive"),
)
# (signature, offset of the flags, of the name's length, of the name) in the two headers of an entry
_HEADERS = ((b"PK\x01\x02", 8, 28, 46), (b"PK\x03\x04", 6, 26, 30))


@contextmanager
def open_zip(stream: BinaryIO) -> Iterator[zipfile.ZipFile]:
    """The zip in ``stream``; raises Refused for what is none."""
    try:
        archive = zipfile.ZipFile(cast("IO[bytes]", _NoGulps(stream)))
    except UnicodeDecodeError:
        archive = _open_with_bad_names(stream)
    except ZIP_TROUBLE:
        raise Refused(_no_zip(stream)) from None
    with archive:
        yield archive


def list_zip(archive: zipfile.ZipFile, prefix: str, sieve: Sieve) -> list[Item]:
    """The entries worth reading; ``prefix`` is ``hw.zip!``. Of entries with the same name the last counts."""
    items: dict[tuple[str, ...], Item] = {}
    for info in archive.infolist():
        item = _item(archive, info, prefix, sieve)
        if item is None:
            continue
        key = (*item.folders, item.name)
        if key in items:
            sieve.notes.add(f"{item.shown} is in the zip more than once; the last one counts.")
        items[key] = item
    return list(items.values())


def read_entry(archive: zipfile.ZipFile, name: str, most: int) -> bytes | None:
    """The ordinary file called ``name``, if the zip has one that can be read and has at most ``most`` bytes."""
    try:
        info = archive.getinfo(name)
        if _problem(info, stat.S_IFMT(info.external_attr >> 16)) is not None:
            return None
        with archive.open(info) as entry:
            data = entry.read(most + 1)
    except (KeyError, *ZIP_TROUBLE):
        return None
    return data if len(data) <= most else None


def _item(archive: zipfile.ZipFile, info: zipfile.ZipInfo, prefix: str, sieve: Sieve) -> Item | None:
    # Old Windows tools write backslashes; nothing is unpacked, so that taking them for slashes is safe.
    name = _name(info).replace("\\", "/")
    mode = stat.S_IFMT(info.external_attr >> 16)
    if name.endswith("/") or mode == stat.S_IFDIR:
        return None
    parts = tuple(part for part in name.split("/") if part not in {"", "."})
    if not parts:
        return None
    if name.startswith("/") or _DRIVE.match(name) or ".." in parts:
        sieve.notes.add(f"{prefix}{show(name)} was skipped: its name leads out of the hand-in.")
        return None
    shown = shown_path(prefix, parts)
    if not _folders_enter(parts[:-1], prefix, sieve) or not (kind := sieve.kind(parts[-1], shown)):
        return None
    opener = partial(_open_entry, archive, info)
    return Item(shown, parts[:-1], parts[-1], kind, info.file_size, False, opener, _problem(info, mode))


def _folders_enter(folders: tuple[str, ...], prefix: str, sieve: Sieve) -> bool:
    return all(
        sieve.enters(folders[: depth + 1], shown_path(prefix, folders[: depth + 1])) for depth in range(len(folders))
    )


def _problem(info: zipfile.ZipInfo, mode: int) -> str | None:
    if mode == stat.S_IFLNK:
        return LINK
    if mode not in {0, stat.S_IFREG}:
        return NOT_REGULAR
    if info.flag_bits & _ENCRYPTED:
        return "is encrypted; pack it again without a password"
    if info.compress_type not in _METHODS:
        return "is packed by a method that is not read; pack it as an ordinary (deflated) zip"
    return None


def _open_entry(archive: zipfile.ZipFile, info: zipfile.ZipInfo) -> BinaryIO:
    return cast(BinaryIO, archive.open(info))


def _name(info: zipfile.ZipInfo) -> str:
    """The entry's name; macOS writes UTF-8 without saying so, and zipfile then reads it as cp437."""
    if info.flag_bits & _UTF8_NAME:
        return info.filename
    try:
        return info.filename.encode("cp437").decode("utf-8")
    except UnicodeError:
        return info.filename


def _no_zip(stream: BinaryIO) -> str:
    stream.seek(0)
    head = stream.read(4)
    told = next((told for magic, told in _OTHER_ARCHIVES if head.startswith(magic)), None)
    if told:
        return f"is {told} with the name of a zip; pack it as a real .zip"
    return "is not a zip that can be read (damaged, or too many entries); pack it again"


def _open_with_bad_names(stream: BinaryIO) -> zipfile.ZipFile:
    """zipfile gives up on a whole zip if one name calls itself UTF-8 and is not: take that flag off."""
    stream.seek(0)
    data = bytearray(stream.read(MAX_HANDIN_BYTES + 1))
    if len(data) > MAX_HANDIN_BYTES:
        raise Refused("is not a zip that can be read (a name in it is not UTF-8); pack it again")
    for signature, flags, length, name in _HEADERS:
        for match in islice(re.finditer(re.escape(signature), bytes(data)), MAX_ENTRIES):
            start = match.start()
            _clear_utf8_flag(data, start + flags, start + length, start + name)
    try:
        return zipfile.ZipFile(cast("IO[bytes]", _NoGulps(io.BytesIO(data))))
    except ZIP_TROUBLE:
        raise Refused("is not a zip that can be read (damaged names); pack it again") from None


def _clear_utf8_flag(data: bytearray, flags: int, length: int, name: int) -> None:
    if name > len(data):
        return
    end = name + int.from_bytes(data[length : length + 2], "little")
    try:
        data[name:end].decode("utf-8")
    except UnicodeDecodeError:
        data[flags + 1] &= ~(_UTF8_NAME >> 8) & 0xFF


class _NoGulps(io.RawIOBase):
    """A file that never gives more than 1 MB at once: zipfile reads the whole list of entries in one go."""

    def __init__(self, stream: BinaryIO) -> None:
        super().__init__()
        self._stream = stream

    def read(self, size: int = -1, /) -> bytes:
        data = self._stream.read(size if 0 <= size <= MAX_ZIP_LIST_BYTES else MAX_ZIP_LIST_BYTES + 1)
        if len(data) > MAX_ZIP_LIST_BYTES:
            raise zipfile.BadZipFile("the list of entries is too long")
        return data

    def seek(self, offset: int, whence: int = 0, /) -> int:
        return self._stream.seek(offset, whence)

    def tell(self) -> int:
        return self._stream.tell()

    def seekable(self) -> bool:
        return True

    def readable(self) -> bool:
        return True
