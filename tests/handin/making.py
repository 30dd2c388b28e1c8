"""A small course of three places, and hand-ins made for it: folders, zips and notebooks."""

from __future__ import annotations

import io
import json
import stat
import zipfile
from collections.abc import Mapping, Sequence
from pathlib import Path

from autograder.handin import HandIn, Place, read_handin

FLASH = Place(7, "flash_attention.py")
ONE_SHOT = Place(7, "one_shot_attention.py")
SOFTMAX = Place(3, "softmax.py")
NAMES = {
    FLASH: frozenset({"online_softmax_update", "flash_attention_kernel"}),
    ONE_SHOT: frozenset({"load_tiles", "mask_scores", "attention_kernel"}),
    SOFTMAX: frozenset({"softmax_kernel"}),
}
Content = str | bytes
Entries = Mapping[str, Content] | Sequence[tuple[str | zipfile.ZipInfo, Content]]


def stub(place: Place) -> str:
    """The pristine file of a place."""
    return "".join(f"def {name}(x):\n    pass  # TODO\n" for name in sorted(NAMES[place]))


def work(place: Place, mark: str = "mine") -> str:
    """A started file of a place; ``mark`` tells several apart."""
    return "".join(f"def {name}(x):\n    return '{mark}'\n" for name in sorted(NAMES[place]))


def read(path: Path) -> HandIn:
    """Read a hand-in for the three places."""
    return read_handin(path, tuple(NAMES), NAMES, lambda place, text: text.strip() != stub(place).strip())


def write(root: Path, files: Mapping[str, Content]) -> Path:
    """Write files below ``root``, which is made and returned."""
    root.mkdir(exist_ok=True)
    for name, content in files.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content.encode() if isinstance(content, str) else content)
    return root


def zip_bytes(entries: Entries, method: int = zipfile.ZIP_DEFLATED) -> bytes:
    """A zip of entries, in order, duplicates and all."""
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", method) as archive:
        for name, data in entries.items() if isinstance(entries, Mapping) else entries:
            archive.writestr(name, data, compress_type=method)
    return buffer.getvalue()


def special_entry(name: str, kind: int) -> zipfile.ZipInfo:
    """A zip entry that says it is a link, a device ... (``stat.S_IFLNK`` ...)."""
    info = zipfile.ZipInfo(name)
    info.create_system = 3
    info.external_attr = (kind | stat.S_IRWXU) << 16
    return info


def notebook(*cells: object, **changes: object) -> str:
    """A notebook of format 4 with code cells of these sources."""
    listed = [{"cell_type": "code", "metadata": {}, "outputs": [], "source": source} for source in cells]
    return json.dumps({"nbformat": 4, "nbformat_minor": 5, "metadata": {}, "cells": listed, **changes})


def texts(handin: HandIn) -> dict[Place, str | None]:
    """The text of every place."""
    return {place: source.text for place, source in handin.sources.items()}


def noted(handin: HandIn, *words: str) -> bool:
    """Whether one note holds all the words."""
    return any(all(word in note for word in words) for note in handin.notes)
