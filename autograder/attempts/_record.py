"""The file that remembers attempts: small, local, safe under several processes, and never a reason to fail.

It lies in ``.grade/`` under the course's root and never leaves the machine: hand-ins are packed from the folder of the
student's files, bundles from a list of names.  Remove the folder to forget all of it.  Work that does not lie under the
course's root is not remembered, nor are solutions.
"""

from __future__ import annotations

import contextlib
import fcntl
import json
import os
import tempfile
import time
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from autograder.attempts._model import Attempt, History
from autograder.attempts._remarks import remark_on
from autograder.catalogue import Course
from autograder.errors import AutograderError
from autograder.result import RunResult

FOLDER = ".grade"
_FILE = "attempts.json"
_SCHEMA = 1
_LARGEST = 4_000_000  # bytes that are read; what is written stays far below
_PLACES = 6  # hand-ins that are remembered, the newest
_HISTORIES = 400  # of one hand-in, one an exercise and device
_PATIENCE = 0.5  # seconds for another process to be done

_Histories = dict[str, History]


class Memory:
    """The attempts at one course's exercises with the files in one place."""

    def __init__(self, course: Course, handin: Path) -> None:
        self._course = course
        self._folder = course.root / FOLDER
        self._place = _place(course.root, handin)

    def histories(self) -> Mapping[str, Mapping[str, History]]:
        """What is remembered, by exercise and device; nothing where it cannot be read."""
        if self._place is None:
            return {}
        found: dict[str, dict[str, History]] = {}
        for key, history in self._read().get(self._place, {}).items():
            exercise, _, device = key.rpartition("/")
            found.setdefault(exercise, {})[device] = history
        return found

    def take(self, run: RunResult) -> Mapping[str, str]:
        """Remember a run's attempts; what can be said of each exercise that is compared with earlier ones."""
        attempts = dict(self._attempts(run))
        if self._place is None or not attempts or run.hidden:
            return {}
        try:
            with self._alone():
                places = self._read()
                histories = places.pop(self._place, {})
                remarks = {}
                for key, attempt in attempts.items():
                    history = histories.pop(key, History())
                    remarks[key.rpartition("/")[0]] = remark_on(history, attempt)
                    histories[key] = history.with_attempt(attempt)  # the newest is last
                places[self._place] = dict(list(histories.items())[-_HISTORIES:])
                self._write(dict(list(places.items())[-_PLACES:]))
        except OSError:
            return {}
        return {exercise: remark for exercise, remark in remarks.items() if remark}

    def _attempts(self, run: RunResult) -> Iterator[tuple[str, Attempt]]:
        for result in run.exercises:
            with contextlib.suppress(AutograderError):
                attempt = Attempt.of(result, run, self._course.exercise(result.id).digest())
                if attempt is not None:
                    yield f"{result.id}/{run.environment.device}", attempt

    @contextlib.contextmanager
    def _alone(self) -> Iterator[None]:
        """One process at a time; raises OSError where that cannot be had."""
        self._folder.mkdir(exist_ok=True)
        with contextlib.suppress(FileExistsError), open(self._folder / ".gitignore", "x", encoding="utf-8") as ignore:
            ignore.write("*\n")  # a student's own repository has no use for it either
        flags = os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK
        handle = os.open(self._folder / "lock", flags, 0o600)
        try:
            end = time.monotonic() + _PATIENCE
            while True:
                try:
                    fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
                    break
                except BlockingIOError:
                    if time.monotonic() >= end:
                        raise
                    time.sleep(0.01)
            yield
        finally:
            os.close(handle)

    def _read(self) -> dict[str, _Histories]:
        """All that is remembered by place; what is broken is forgotten."""
        try:
            handle = os.open(self._folder / _FILE, os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK)
            with open(handle, "rb") as stream:
                data = stream.read(_LARGEST + 1)
            document = json.loads(data) if len(data) <= _LARGEST else None
            places = document["places"] if isinstance(document, dict) and document.get("schema") == _SCHEMA else None
        except (OSError, ValueError, KeyError, RecursionError):
            return {}
        found: dict[str, _Histories] = {}
        if isinstance(places, dict):
            for place, histories in list(places.items())[-_PLACES:]:
                found[place] = dict(_readable(histories)) if isinstance(histories, dict) else {}
        return found

    def _write(self, places: Mapping[str, _Histories]) -> None:
        """Raises OSError where the file cannot be put there whole."""
        document = {
            "schema": _SCHEMA,
            "places": {
                place: {key: history.document() for key, history in histories.items()}
                for place, histories in places.items()
            },
        }
        handle, name = tempfile.mkstemp(dir=self._folder, prefix=".attempts-")
        try:
            with os.fdopen(handle, "w", encoding="utf-8") as stream:
                json.dump(document, stream)
            os.replace(name, self._folder / _FILE)
        except BaseException:
            with contextlib.suppress(OSError):
                os.unlink(name)
            raise


def _readable(histories: Mapping[str, Any]) -> Iterator[tuple[str, History]]:
    for key, values in list(histories.items())[-_HISTORIES:]:
        with contextlib.suppress(ValueError):
            yield key, History.read(values)


def _place(root: Path, handin: Path) -> str | None:
    """A hand-in's path below the course's root; None for work that is not remembered."""
    try:
        place = handin.resolve().relative_to(root.resolve())
    except (ValueError, OSError, RuntimeError):
        return None
    return None if place.parts[:1] == ("solutions",) else place.as_posix()
