"""What was found out once and need not be found out again: small documents by key, in memory and in a folder.

Standard library only.  A folder that cannot be read or written is no error: things are then found out again.
"""

from __future__ import annotations

import hashlib
import json
import os
import tempfile
import threading
from collections import OrderedDict
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

_IN_MEMORY = 1024  # documents of a few kilobytes: a class of any size takes the same room


def key_of(*parts: Any) -> str:
    """A hash of ``parts``, which are plain JSON values or bytes."""
    text = json.dumps(parts, sort_keys=True, default=bytes.hex)
    return hashlib.sha256(text.encode()).hexdigest()


class Kept:
    """Documents by key; without ``folder`` the newest are kept in memory alone."""

    def __init__(self, folder: Path | None) -> None:
        self._folder = folder
        self._newest: OrderedDict[str, Mapping[str, Any]] = OrderedDict()
        self._lock = threading.Lock()
        self._busy: dict[str, tuple[threading.Lock, int]] = {}

    @contextmanager
    def alone(self, key: str) -> Iterator[None]:
        """While one thread finds something out, others who want the same wait for it."""
        with self._lock:
            lock, waiting = self._busy.get(key, (threading.Lock(), 0))
            self._busy[key] = lock, waiting + 1
        try:
            with lock:
                yield
        finally:
            with self._lock:
                lock, waiting = self._busy[key]
                if waiting == 1:
                    del self._busy[key]
                else:
                    self._busy[key] = lock, waiting - 1

    def get(self, key: str) -> Mapping[str, Any] | None:
        """The document kept under ``key``, or None."""
        with self._lock:
            if key in self._newest:
                self._newest.move_to_end(key)
                return self._newest[key]
        if self._folder is None:
            return None
        try:
            document = json.loads((self._folder / f"{key}.json").read_text(encoding="utf-8"))
        except (OSError, ValueError):
            return None
        if not isinstance(document, dict):
            return None
        self._remember(key, document)
        return document

    def put(self, key: str, document: Mapping[str, Any]) -> None:
        """Keep a document of plain JSON values."""
        self._remember(key, document)
        if self._folder is None:
            return
        name = ""
        try:
            self._folder.mkdir(parents=True, exist_ok=True)
            handle, name = tempfile.mkstemp(dir=self._folder, prefix=".")
            with os.fdopen(handle, "w", encoding="utf-8") as stream:
                json.dump(document, stream)
            Path(name).replace(self._folder / f"{key}.json")
        except OSError:
            if name:
                Path(name).unlink(missing_ok=True)

    def forget(self) -> None:
        """Forget what is in memory."""
        with self._lock:
            self._newest.clear()

    def _remember(self, key: str, document: Mapping[str, Any]) -> None:
        with self._lock:
            self._newest[key] = document
            self._newest.move_to_end(key)
            while len(self._newest) > _IN_MEMORY:
                self._newest.popitem(last=False)
