"""Which hand-ins a cluster has begun, in files that outlive the processes: how a hand-in that kills is found out.

A file is made before a hand-in is graded and removed behind it.  One that is left is of a process that died on the way.
Files are made by an exclusive create, which network file systems do right, and hold where it was, for the message.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import socket
from collections.abc import Sequence
from pathlib import Path

from autograder.errors import UsageError, WorkStopped
from autograder.release.files import write_whole

MOST = 3  # times that a hand-in is begun
_RUN = "run"
_BEGUN = "begun"


class Attempts:
    """The begun hand-ins of one run, in ``folder``, which all its processes see."""

    def __init__(self, folder: Path, run: str) -> None:
        self._folder = folder
        self._run = run

    def open(self) -> None:
        """Clear away what another run left, and say that this is the run now.

        Raises:
            UsageError: the folder cannot be written to.
        """
        self.close()
        try:
            (self._folder / _BEGUN).mkdir(parents=True)
        except OSError as error:
            raise UsageError(f"The folder {self._folder} cannot be made ({error.strerror}).") from error
        write_whole(self._folder / _RUN, self._run.encode())

    def close(self) -> None:
        """End the run: jobs that are still at work somewhere write nothing any more."""
        shutil.rmtree(self._folder, ignore_errors=True)

    @property
    def here(self) -> bool:
        """Whether this process sees the folder, and the run in it is this one."""
        try:
            return (self._folder / _RUN).read_text(encoding="utf-8") == self._run
        except OSError:
            return False

    def require_here(self) -> None:
        """Nothing, as long as the run goes on.

        Raises:
            WorkStopped: it was ended, or another has begun.
        """
        if not self.here:
            raise WorkStopped("The run that this hand-in was graded for has ended.")

    def earlier(self, student: str) -> Sequence[str]:
        """Where a hand-in was begun and not ended, first to last."""
        places = []
        for number in range(1, MOST + 1):
            with contextlib.suppress(OSError):
                places.append(self._file(student, number).read_text(encoding="utf-8", errors="replace"))
        return places

    def begin(self, student: str) -> bool:
        """Note that a hand-in is begun here; False if that was so too many times."""
        for number in range(1, MOST + 1):
            try:
                handle = os.open(self._file(student, number), os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o644)
            except FileExistsError:
                continue
            except OSError as error:
                self.require_here()
                raise UsageError(f"{self._folder} cannot be written to ({error.strerror}).") from error
            with os.fdopen(handle, "w", encoding="utf-8") as stream:
                stream.write(socket.gethostname())
            return True
        return False

    def end(self, student: str) -> None:
        """Forget that a hand-in was begun."""
        for number in range(1, MOST + 1):
            with contextlib.suppress(OSError):
                self._file(student, number).unlink()

    def _file(self, student: str, number: int) -> Path:
        return self._folder / _BEGUN / f"{student}.{number}"
