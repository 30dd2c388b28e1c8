"""Notices saves by looking at the files: times, sizes and contents, several times a second.

No events of the file system are asked for: on network drives, in containers and under WSL they do not arrive, and a
course has a handful of small files.  A save counts once the files have kept still for a moment, so that an editor that
writes in pieces, or to another name that it then moves, is not read half-way.
"""

from __future__ import annotations

import hashlib
import json
import os
import time
import zipfile
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from autograder.trees import parse

_SUFFIXES = (".py", ".ipynb", ".zip")
_DEEP = 4  # folders: as deep as hand-ins are looked through, and the lesson's own
_MOST = 300  # files
_LARGEST = 1_100_000  # bytes; larger ones are not graded, and told apart by time and size
_LEFT_OUT = ("__pycache__", "node_modules")

STILL = 0.06  # seconds that files keep still after a save
DOUBT = 0.5  # the same, where a file is empty, missing or does not parse: more of it may be on its way
_THOROUGH = 1.0  # seconds between two looks at contents whatever times and sizes say

_Stamp = tuple[int, int, int, int]


@dataclass(frozen=True, slots=True)
class Save:
    """One save; ``changed`` says whether the content of any file is another than before."""

    changed: bool


@dataclass(frozen=True, slots=True)
class _Seen:
    """All files at one moment: how they are stamped, and hashes of their contents."""

    stamps: Mapping[str, _Stamp]
    contents: Mapping[str, str]


class Saves:
    """Looks at a hand-in's files; `look` is to be called again and again, more often while something is `pending`."""

    def __init__(self, handin: Path, clock: Callable[[], float] = time.monotonic) -> None:
        self._handin = handin
        self._clock = clock
        self._looked = clock()
        self._told = self._read(_stamps(handin), None)
        self._newest = self._told
        self._since: float | None = None

    @property
    def pending(self) -> bool:
        """Whether something has changed and does not keep still yet."""
        return self._since is not None

    def look(self) -> Save | None:
        """The save since the last that was told, once the files keep still."""
        now = self._clock()
        stamps = _stamps(self._handin)
        if stamps != self._newest.stamps:
            self._newest = self._read(stamps, self._newest)
            self._since = now
            return None
        if now - self._looked >= _THOROUGH and self._since is None:
            self._looked = now
            again = self._read(stamps, None)
            if again.contents != self._newest.contents:
                self._newest, self._since = again, now
            return None
        if self._since is None or now - self._since < (DOUBT if self._doubtful() else STILL):
            return None
        # A file that was written while its hash was made has another one now.
        settled = self._read(stamps, None)
        if settled.contents != self._newest.contents:
            self._newest, self._since = settled, now
            return None
        changed = settled.contents != self._told.contents
        self._told, self._since = settled, None
        return Save(changed)

    def _doubtful(self) -> bool:
        """Whether what is new may be half of something."""
        before, now = self._told.contents, self._newest.contents
        if before.keys() - now.keys():
            return True
        return any(_may_be_half(Path(path)) for path in now if now[path] != before.get(path))

    def _read(self, stamps: Mapping[str, _Stamp], known: _Seen | None) -> _Seen:
        """Contents of all files; with ``known``, only of those with another stamp than there."""
        contents = {}
        for path, stamp in stamps.items():
            if known is not None and known.stamps.get(path) == stamp:
                contents[path] = known.contents[path]
            else:
                contents[path] = _digest(path, stamp)
        return _Seen(stamps, contents)


def _stamps(handin: Path) -> Mapping[str, _Stamp]:
    found: dict[str, _Stamp] = {}
    for entry in _files(handin):
        if len(found) == _MOST:
            break
        try:
            state = os.stat(entry)
        except OSError:
            continue
        found[entry] = (state.st_mtime_ns, state.st_ctime_ns, state.st_size, state.st_ino)
    return found


def _files(handin: Path) -> Iterator[str]:
    """The files that may be graded: the one that is named, or those of a folder, without links and hidden ones."""
    if not handin.is_dir():
        yield str(handin)
        return
    todo = [(str(handin), 0)]
    while todo:
        folder, depth = todo.pop()
        try:
            with os.scandir(folder) as entries:
                listed = sorted(entries, key=lambda entry: entry.name)
        except OSError:
            continue
        for entry in listed:
            if entry.name.startswith(".") or entry.name in _LEFT_OUT:
                continue
            try:
                if entry.is_dir(follow_symlinks=False) and depth < _DEEP:
                    todo.append((entry.path, depth + 1))
                elif entry.name.lower().endswith(_SUFFIXES) and entry.is_file(follow_symlinks=False):
                    yield entry.path
            except OSError:
                continue


def _digest(path: str, stamp: _Stamp) -> str:
    if stamp[2] > _LARGEST:
        return repr(stamp)
    data = _bytes(path)
    return "unreadable" if data is None else hashlib.sha256(data).hexdigest()


def _bytes(path: str) -> bytes | None:
    """A regular file's bytes; anything else is not opened for long, or not at all."""
    try:
        handle = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
        with open(handle, "rb") as stream:
            return stream.read(_LARGEST)
    except OSError:
        return None


def _may_be_half(path: Path) -> bool:
    """Whether a file is empty, or no Python, JSON or zip as its name says."""
    data = _bytes(str(path))
    if not data:
        return True
    try:
        if path.suffix == ".py":
            parse(data)
        elif path.suffix == ".ipynb":
            json.loads(data)
        else:
            return not zipfile.is_zipfile(path)
    except (SyntaxError, ValueError, RecursionError, MemoryError, OSError):
        return True
    return False
