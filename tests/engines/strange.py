"""Loaded by Dask's workers in tests, before they work: makes them strange in the way that the environment names.

``STRANGE=kills`` has the hand-in of the student "killer" end the process that grades it, as one does that eats all
memory while it is read.  ``STRANGE=old`` gives the kit another version.  ``STRANGE=blind`` hides every folder of
hand-ins, as on a machine that has not mounted it.  ``STRANGE=full`` fills the disk when three results are written.
"""

from __future__ import annotations

import errno
import os
import signal
from pathlib import Path

import autograder

WAY = os.environ.get("STRANGE", "")

if WAY == "old":
    autograder.__version__ = "0.0.9"

if WAY == "blind":
    _access = os.access

    def access(path: str | os.PathLike[str], mode: int) -> bool:
        return "hand-ins" not in os.fspath(path) and _access(path, mode)

    os.access = access  # type: ignore[assignment]

if WAY == "kills":
    from autograder.bulk.desk import Desk, Graded
    from autograder.bulk.engines import suspect
    from autograder.bulk.hand_ins import HandInPath

    _grade = Desk.grade

    def grade(self: Desk, hand_in: HandInPath) -> Graded:
        if hand_in.student == "killer":
            os.kill(os.getpid(), signal.SIGKILL)
        return _grade(self, hand_in)

    Desk.grade = grade  # type: ignore[method-assign]
    suspect._PROGRAM = ("-c", "import tests.engines.strange; from autograder.bulk.engines.suspect import main; main()")

if WAY == "full":
    from autograder.release import files

    _replace = files._replace

    def replace(path: Path, data: bytes, mode: int) -> None:
        if path.parent.name == "results" and len(list(path.parent.glob("*.json"))) >= 3:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), str(path))
        _replace(path, data, mode)

    files._replace = replace
