"""A user of its own for each child of a root's server: it owns one folder, and nothing else on the machine.

Such a user needs no entry anywhere.  Ids are taken from a range that neither distributions nor container engines give
out, https://systemd.io/UIDS-GIDS: 64 for each server, told apart by the server's process id.
"""

from __future__ import annotations

import ctypes
import os
import resource
import struct
from pathlib import Path

from autograder.worker import process
from autograder.worker.sandbox._kernel import stay_inspectable, system_call

PER_SERVER = 64
_FIRST, _PIDS = 0x70000000, 1 << 22
# A container may have 65536 users in all; these are for software to pick from.
_FIRST_OF_FEW, _FEW = 61184, 4096

_CAPABILITIES_VERSION = 0x20080522
# Processes and threads of one child's user.
_PROCESSES, _PROCESSES_WITH_PROGRAMS = 128, 1024


def spare_uids(server_pid: int, uid_map: str) -> range:
    """The ids that a server may give to its children; ``uid_map`` is the text of /proc/self/uid_map."""
    last = max((int(row.split()[0]) + int(row.split()[2]) for row in uid_map.splitlines() if row.strip()), default=0)
    place = server_pid % _PIDS * PER_SERVER
    if last >= _FIRST + _PIDS * PER_SERVER:
        return range(_FIRST + place, _FIRST + place + PER_SERVER)
    first = _FIRST_OF_FEW + place % (_FEW - PER_SERVER)
    return range(first, first + PER_SERVER)


def own_uids(number: int) -> range:
    """The ids for children of the server with this process id, as all other servers of the machine see it."""
    return spare_uids(number, Path("/proc/self/uid_map").read_text())


def own_everything(folder: str, uid: int) -> None:
    """Make ``uid`` the owner of a folder that no hostile code has touched yet, and of what is in it."""
    for parent, _, files in os.walk(folder):
        for path in (parent, *(os.path.join(parent, name) for name in files)):
            os.chown(path, uid, uid, follow_symlinks=False)


def become(uid: int, programs: bool) -> None:
    """Turn this process, which has one thread, from root into ``uid``, for good.

    Raises:
        OSError: it is not root, or its namespace does not know the id.
    """
    server = os.getppid()
    os.setgroups([])
    os.setresgid(uid, uid, uid)
    os.setresuid(uid, uid, uid)
    give_up_capabilities()
    stay_inspectable()
    process.die_with(server)  # a change of user had cancelled that
    limit = _PROCESSES_WITH_PROGRAMS if programs else _PROCESSES
    resource.setrlimit(resource.RLIMIT_NPROC, (limit, limit))


def give_up_capabilities() -> None:
    """Leave this process no right that its user id alone does not give."""
    header = ctypes.create_string_buffer(struct.pack("=Ii", _CAPABILITIES_VERSION, 0))
    system_call("capset", header, ctypes.create_string_buffer(24))


def capabilities() -> int:
    """The capabilities that this process could use, as bits."""
    rows = Path("/proc/self/status").read_text().splitlines()
    return max(int(row.split()[1], 16) for row in rows if row.startswith(("CapEff", "CapPrm", "CapInh", "CapAmb")))
