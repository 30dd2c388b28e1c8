"""What an export may overwrite: its own earlier files, and nothing that people or the kit made.

``OUT/.exported.json`` holds a hash of each file that an export wrote, by its path.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
from collections.abc import Mapping
from pathlib import Path

from autograder.bulk.store import Store
from autograder.errors import UsageError
from autograder.release.files import write_whole

_HOW = "Name another file with --out"


def refuse_own_input(store: Store, path: Path, roster: Path | None) -> None:
    """Stop before a file that exports are made from is overwritten.

    Raises:
        UsageError: ``path`` is the roster, or a file or folder of the kit among the results.
    """
    real = path.resolve()
    if roster is not None and real == roster.resolve():
        raise UsageError(f"{path} is the roster, which export reads. {_HOW}.")
    if any(real.is_relative_to(own.resolve()) for own in store.own_places()):
        raise UsageError(f"{path} is one of the kit's own files in {store.out}. {_HOW}.")


def refuse_foreign(store: Store, path: Path) -> None:
    """Stop before a file is overwritten that no export wrote, or that was changed since.

    Raises:
        UsageError: it is such a file.
    """
    if not path.is_file():
        return  # a pipe or a device is written to, and has nothing to lose
    try:
        there = path.read_bytes()
    except OSError:
        return  # none is there; or writing will say why it cannot be done
    if there and _hash(there) not in _known(store).values():
        raise UsageError(f"{path} is there already, and not as an export left it. {_HOW}, or add --replace.")


def note_export(store: Store, path: Path, data: bytes) -> None:
    """Remember what was written, so that the next export may replace it."""
    known = {**_known(store), str(path.resolve()): _hash(data)}
    with contextlib.suppress(UsageError):  # a folder that can only be read
        write_whole(store.exported, (json.dumps({"schema": 1, "sha256": known}, indent=1) + "\n").encode())


def _known(store: Store) -> Mapping[str, str]:
    try:
        return dict(json.loads(store.exported.read_text(encoding="utf-8"))["sha256"])
    except (OSError, ValueError, KeyError, TypeError):
        return {}


def _hash(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()
