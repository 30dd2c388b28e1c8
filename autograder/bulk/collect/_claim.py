"""Claiming DIR for one run: it must hold nothing that collect did not put there, and no other run may be at work."""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from autograder.bulk.collect._index import INDEX, KEPT, Known, load_index
from autograder.bulk.collect._target import Target
from autograder.bulk.submissions import COLLECTED, Submission, load
from autograder.errors import UsageError
from autograder.handin._names import a_few, show

_LOCK = ".lock"
_COPYING = ".collecting-"
_LITTER = frozenset({".DS_Store", "Thumbs.db", "desktop.ini"})


@contextmanager
def claim(out: Path, source: Path) -> Iterator[Target]:
    """The folder at ``out``, made if need be, and nobody else's as long as the context lasts.

    Raises:
        UsageError: it holds what collect did not write, lies in the source, is in use, or cannot be written.
    """
    real = out.resolve()
    if real.is_relative_to(source.resolve()):
        raise UsageError(f"{show(str(out))} lies in the folder that is collected. Choose another --out.")
    with _told(out):
        real.mkdir(parents=True, exist_ok=True)
        _refuse_foreign(out, real)
        (real / KEPT).mkdir(exist_ok=True)
        with _locked(real / KEPT / _LOCK, out):
            known, submissions = _load(real)
            for left in real.glob(_COPYING + "*"):
                shutil.rmtree(left)
            scratch = Path(tempfile.mkdtemp(prefix=_COPYING, dir=real))
            try:
                yield Target(real, scratch, known, submissions)
            finally:
                shutil.rmtree(scratch, ignore_errors=True)


def _load(out: Path) -> tuple[Mapping[str, Known], Mapping[str, Submission]]:
    """What earlier runs left; without an index, what can be told from the submissions."""
    submissions = load(out / COLLECTED)
    known = {
        student: Known(f"{submission.lms}:{submission.lms_id or student}")
        for student, submission in submissions.items()
    }
    return {**known, **load_index(out / KEPT / INDEX)}, submissions


def _refuse_foreign(out: Path, real: Path) -> None:
    """Raise UsageError if anything is there that collect did not write."""
    with os.scandir(real) as scan:
        entries = sorted((entry for entry in scan if entry.name not in _LITTER), key=lambda entry: entry.name)
    own = [entry for entry in entries if _has_own_name(entry)]
    names = {entry.name for entry in own}
    known = _load(real)[0] if names & {KEPT, COLLECTED} else {}
    foreign = [
        show(entry.name)
        for entry in entries
        if entry not in own and not (entry.is_dir(follow_symlinks=False) and entry.name in known)
    ]
    if foreign:
        raise UsageError(
            f"{show(str(out))} holds what `course collect` did not put there: {a_few(foreign)}. "
            "Choose a new folder for --out; nothing was changed."
        )


def _has_own_name(entry: os.DirEntry[str]) -> bool:
    if entry.name == COLLECTED:
        return entry.is_file(follow_symlinks=False)
    return (entry.name == KEPT or entry.name.startswith(_COPYING)) and entry.is_dir(follow_symlinks=False)


@contextmanager
def _told(out: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise UsageError(f"{show(str(out))} cannot be written ({(error.strerror or str(error)).lower()}).") from error


@contextmanager
def _locked(path: Path, out: Path) -> Iterator[None]:
    """Two runs at once would each take the other's copies for leftovers."""
    try:
        import fcntl
    except ImportError:  # Windows
        yield
        return
    handle = os.open(path, os.O_CREAT | os.O_RDWR | os.O_CLOEXEC | os.O_NOFOLLOW, 0o666)
    try:
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise UsageError(f"Another `course collect` is writing to {show(str(out))}. Wait for it to end.") from None
        except OSError:
            pass  # a network drive without locks
        yield
    finally:
        os.close(handle)
