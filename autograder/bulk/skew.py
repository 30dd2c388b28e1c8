"""Was a hand-in made with another version of the kit than grades it?  Read from the manifest of `grade submit`.

The manifest is the student's own file: it is shown, and decides nothing.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path

from autograder import __version__
from autograder.handin._limits import Refused
from autograder.handin._zip import open_zip, read_entry
from autograder.release.submit import MANIFEST

_LARGEST = 1 << 18
_MOST_ZIPS = 20
_VERSION = re.compile(r"[0-9A-Za-z.+-]{1,40}")


def version_note(path: Path) -> str | None:
    """A sentence if the hand-in at ``path`` was packed by another version; None if not, or if it does not say."""
    versions = {version for text in _manifests(path) if (version := _version(text)) is not None}
    others = sorted(versions - {__version__})
    if not others:
        return None
    return (
        f"Packed with version {' and '.join(others)} of the kit, graded with {__version__}: "
        "checks may have changed in between."
    )


def _version(text: bytes) -> str | None:
    try:
        version = json.loads(text)["kit_version"]
    except (ValueError, KeyError, TypeError, RecursionError):
        return None
    return version if isinstance(version, str) and _VERSION.fullmatch(version) else None


def _manifests(path: Path) -> Iterator[bytes]:
    try:
        if path.is_file():
            zips = [path] if path.suffix.lower() == ".zip" else []
        else:
            plain = path / MANIFEST
            if plain.is_file() and not plain.is_symlink():
                with plain.open("rb") as stream:
                    yield stream.read(_LARGEST)
            zips = sorted(item for item in path.glob("*.zip") if item.is_file() and not item.is_symlink())[:_MOST_ZIPS]
        for item in zips:
            with item.open("rb") as stream, open_zip(stream) as archive:
                if (text := read_entry(archive, MANIFEST, _LARGEST)) is not None:
                    yield text
    except (OSError, Refused):
        return
