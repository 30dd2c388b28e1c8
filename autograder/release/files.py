"""Zips that are the same bytes for the same content, and files that are written whole or not at all."""

from __future__ import annotations

import io
import itertools
import os
import shutil
import tempfile
import time
import zipfile
from collections.abc import Iterable, Mapping
from pathlib import Path

from autograder.errors import UsageError

EPOCH = (1980, 1, 1, 0, 0, 0)  # the earliest time that a zip can hold
_FILE_MODE = 0o100644
_FOLDER_MODE = 0o040755
_MSDOS_FOLDER = 0x10


def zip_bytes(files: Mapping[str, bytes], folders: Iterable[str] = ()) -> bytes:
    """A zip of ``files`` and empty ``folders``: entries sorted, times fixed."""
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w", zipfile.ZIP_DEFLATED) as archive:
        for name in sorted({*files, *(f"{folder}/" for folder in folders)}):
            info = zipfile.ZipInfo(name, EPOCH)
            info.create_system = 3  # Unix, wherever it is made
            if name in files:
                info.external_attr = _FILE_MODE << 16
                info.compress_type = zipfile.ZIP_DEFLATED
                archive.writestr(info, files[name])
            else:
                info.external_attr = _FOLDER_MODE << 16 | _MSDOS_FOLDER
                archive.writestr(info, b"")
    return stream.getvalue()


def write_whole(path: Path, data: bytes) -> None:
    """Write a file so that nobody ever sees half of it; a file that is there is replaced.

    Raises:
        UsageError: it cannot be written there.
    """
    name = ""
    try:
        handle, name = tempfile.mkstemp(dir=path.resolve().parent, prefix=f".{path.name}.")
        with os.fdopen(handle, "wb") as stream:
            stream.write(data)
        Path(name).chmod(0o666 & ~_umask())
        Path(name).replace(path)
    except OSError as error:
        if name:
            Path(name).unlink(missing_ok=True)
        raise UsageError(f"{path} cannot be written ({(error.strerror or str(error)).lower()}).") from error


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
