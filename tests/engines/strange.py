"""Loaded by Dask's workers in tests, before they work: makes them strange in the way that the environment names.

``STRANGE=kills`` has the hand-in of the student "killer" end the process that grades it, as one does that eats all
memory while it is read.  ``STRANGE=old`` gives the kit another version.  ``STRANGE=blind`` hides every folder of
hand-ins, as on a machine that has not mounted it.
"""

from __future__ import annotations

import os
import signal

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
    from autograder.bulk.hand_ins import HandInPath

    _grade = Desk.grade

    def grade(self: Desk, hand_in: HandInPath) -> Graded:
        if hand_in.student == "killer":
            os.kill(os.getpid(), signal.SIGKILL)
        return _grade(self, hand_in)

    Desk.grade = grade  # type: ignore[method-assign]
