"""Zips that are the same bytes for the same content, and files that are written whole or not at all."""

from __future__ import annotations

import io
import itertools
import os
import shutil
import stat
import sys
import tempfile
import time
import zipfile
from collections.abc import Collection, Iterable, Mapping
from pathlib import Path

from autograder.errors import UsageError

EPOCH = (1980, 1, 1, 0, 0, 0)  # the earliest time that a zip can hold
_FILE_MODE, _PROGRAM_MODE = 0o100644, 0o100755
_FOLDER_MODE = 0o040755
_MSDOS_FOLDER = 0x10
_MOST_LINKS = 40  # as many as Linux follows


def zip_bytes(files: Mapping[str, bytes], folders: Iterable[str] = (), programs: Collection[str] = ()) -> bytes:
    """A zip of ``files``, of which ``programs`` can be run, and empty ``folders``: entries sorted, times fixed."""
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w", zipfile.ZIP_DEFLATED) as archive:
        for name in sorted({*files, *(f"{folder}/" for folder in folders)}):
            info = zipfile.ZipInfo(name, EPOCH)
            info.create_system = 3  # Unix, wherever it is made
            if name in files:
                info.external_attr = (_PROGRAM_MODE if name in programs else _FILE_MODE) << 16
                info.compress_type = zipfile.ZIP_DEFLATED
                archive.writestr(info, files[name])
            else:
                info.external_attr = _FOLDER_MODE << 16 | _MSDOS_FOLDER
                archive.writestr(info, b"")
    return stream.getvalue()


def write_whole(path: Path, data: bytes) -> None:
    """Write a file so that nobody ever sees half of it; a file that is there is replaced, and keeps its permissions.

    Links are followed: what a link points at is written.  What is no regular file, such as a pipe, a device or an open
    descriptor (``/dev/stdout``, ``/dev/fd/3``), is written to as it is and never replaced.

    Raises:
        UsageError: it cannot be written there.
    """
    try:
        descriptor = _descriptor(path)
        mode = _mode(path)
        if descriptor is not None:
            _write_in_place(descriptor, data)
        elif mode is None or stat.S_ISREG(mode):
            _replace(path.resolve(), data, 0o666 & ~_umask() if mode is None else mode & 0o777)
        else:
            _write_in_place(path, data)
    except OSError as error:
        reason = (error.strerror or str(error)).lower()
        if isinstance(error, FileNotFoundError):
            reason = f"there is no folder {path.resolve().parent}"
        raise UsageError(f"{path} cannot be written ({reason}).") from error


def _mode(path: Path) -> int | None:
    """The type and permissions of what is there, links followed; None if nothing is, as behind a dangling link."""
    try:
        return path.stat().st_mode
    except FileNotFoundError:
        return None


def _descriptor(path: Path) -> int | None:
    """The open descriptor of this process that a path stands for, by way of links such as ``/dev/stdout``; else None.

    To open such a path anew would begin a file again that others are writing to.
    """
    for _ in range(_MOST_LINKS):
        path = path.parent.resolve() / path.name
        if path.parent == Path(f"/proc/{os.getpid()}/fd") and path.name.isdecimal():
            return int(path.name)
        if not path.is_symlink():
            return None
        path = path.parent / path.readlink()
    return None


def _write_in_place(place: Path | int, data: bytes) -> None:
    for stream in (sys.stdout, sys.stderr):
        if isinstance(place, int) and stream is not None:
            stream.flush()  # what was printed before comes before
    with open(place, "wb", closefd=not isinstance(place, int)) as opened:
        opened.write(data)


def _replace(path: Path, data: bytes, permissions: int) -> None:
    handle, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name[:40]}.")
    try:
        with os.fdopen(handle, "wb") as stream:
            stream.write(data)
        Path(name).chmod(permissions)
        Path(name).replace(path)
    except BaseException:
        Path(name).unlink(missing_ok=True)
        raise


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask


def copy_aside(path: Path) -> Path:
    """Copy a file beside itself under a name with the time in it; no copy replaces another."""
    first = path.with_name(f"{path.name}.bak-{time.strftime('%Y%m%d-%H%M%S')}")
    numbered = (first.with_name(f"{first.name}-{number}") for number in itertools.count(2))
    copy = next(place for place in itertools.chain([first], numbered) if not place.exists())
    shutil.copy2(path, copy)
    return copy
