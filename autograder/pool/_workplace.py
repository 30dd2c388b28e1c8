"""The temporary folder of a pool.  What pools that were killed have left behind, the next one clears away."""

from __future__ import annotations

import contextlib
import errno
import fcntl
import os
import shutil
import socket
import stat
import subprocess
import tempfile
import time
import weakref
from pathlib import Path

from autograder.errors import WorkerError

_PREFIX = "autograder-"
_LOCK = ".lock"
_NEW = 60.0  # seconds


class Workplace:
    """A new folder in the system's temporary one, held by a lock that no process but this one has.

    ``close()`` removes it.
    """

    def __init__(self) -> None:
        clear_left_behind()
        ends = contextlib.ExitStack()
        # At the latest when this process ends, also if something breaks off while the pool is still being made.
        self.close = weakref.finalize(self, ends.close)
        try:
            self.folder = Path(tempfile.mkdtemp(prefix=_PREFIX)).resolve()  # $TMPDIR may be relative
            ends.callback(remove, self.folder)
            lock = os.open(self.folder / _LOCK, os.O_RDWR | os.O_CREAT, 0o600)
        except OSError as error:
            self.close()
            raise WorkerError(
                f"The worker did not start: no temporary folder can be made on {socket.gethostname()} "
                f"({(error.strerror or str(error)).lower()}). Make room for one, or name another with TMPDIR."
            ) from error
        ends.callback(os.close, lock)
        fcntl.flock(lock, fcntl.LOCK_EX)


def full_disk() -> str:
    """What to do where a disk is full, in two sentences: students' code runs in a temporary folder."""
    where, host = tempfile.gettempdir(), socket.gethostname()
    return f"No room is left on {host} in the temporary folder {where}. Make room there, or name another with TMPDIR."


def is_full_disk(error: OSError) -> bool:
    return error.errno in (errno.ENOSPC, errno.EDQUOT)


def clear_left_behind() -> None:
    """Remove this user's folders that nobody holds any more: they have students' sources in them, and solutions."""
    for folder in Path(tempfile.gettempdir()).glob(f"{_PREFIX}*"):
        with contextlib.suppress(OSError):
            status = folder.lstat()
            if status.st_uid != os.geteuid() or not stat.S_ISDIR(status.st_mode):
                continue
            if abs(time.time() - status.st_mtime) < _NEW:  # one of the future is of a clock that was set back
                continue  # its owner may be about to take the lock
            handle = os.open(folder / _LOCK, os.O_RDWR | os.O_NOFOLLOW | os.O_NONBLOCK)
            try:
                fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
                remove(folder)
            finally:
                os.close(handle)


def remove(folder: Path) -> None:
    """Remove a folder that hostile code may have filled; what resists stays behind in the temporary folder."""
    try:
        shutil.rmtree(folder, ignore_errors=True)
    except RecursionError:  # a thousand folders inside each other; `rm` goes down without recursion
        subprocess.run(["rm", "-rf", "--", str(folder)], stdin=subprocess.DEVNULL, capture_output=True, check=False)
