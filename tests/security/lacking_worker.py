"""A worker on a machine that lacks layers of the sandbox: ``lacking_worker.py LAYERS FD DEVICE``.

Started by tests in the worker's place (`pool_without` in conftest.py).  The layers fail as they do on such a machine:
the system calls are not there, the user cannot be changed.  Three more words: "capabilities" has root keep them, "room"
leaves Python's own files off landlock's list, "late" has a layer that held when it was probed fail for every child.
"""

from __future__ import annotations

import errno
import os
import sys
from typing import Any

from autograder.worker import __main__ as worker
from autograder.worker import server
from autograder.worker.sandbox import Confinement, Outcome, _landlock, _places, _seccomp, _uid


def fail(number: int) -> Any:
    def failing(*_: object, **__: object) -> None:
        raise OSError(number, os.strerror(number))

    return failing


def lack(layers: set[str], device: str) -> None:
    if "landlock" in layers:
        _landlock.system_call = fail(errno.ENOSYS)
    if "seccomp" in layers or "late" in layers:
        _seccomp.system_call = fail(errno.ENOSYS)
    if "spare uid" in layers:
        _uid.become = fail(errno.EPERM)
    if "capabilities" in layers:
        _uid.give_up_capabilities = fail(errno.EPERM)
    if "room" in layers:
        _places.readable = lambda _: ()
    if "late" in layers:
        confinement = Confinement(device, frozenset({"seccomp"}), ())
        server.probe = lambda *_: Outcome(confinement, ("rlimits", "seccomp"), ())


if __name__ == "__main__":
    lack(set(sys.argv.pop(1).split(",")), sys.argv[2])
    worker.main()
