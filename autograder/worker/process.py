"""What the operating system does for us: limits, process groups, and no orphans.  Linux only, as Triton is."""

from __future__ import annotations

import contextlib
import ctypes
import os
import resource
import signal
from collections.abc import Container
from pathlib import Path

from autograder.protocol import Limits

_PR_SET_PDEATHSIG = 1
_PR_SET_CHILD_SUBREAPER = 36


def become_subreaper() -> None:
    """Have orphaned grandchildren handed to this process, so that it can end them."""
    _prctl(_PR_SET_CHILD_SUBREAPER, 1)


def leave_server(server_pid: int) -> None:
    """In a fresh child: a process group of its own, and death when the server dies."""
    os.setsid()
    _prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
    if os.getppid() != server_pid:  # the server died before the line above
        os._exit(1)


def kill_group(pid: int) -> None:
    """Kill a child and its process group."""
    for kill in (os.killpg, os.kill):
        with contextlib.suppress(ProcessLookupError, PermissionError):
            kill(pid, signal.SIGKILL)


def kill_strangers(known: Container[int]) -> None:
    """Kill every child of this process that is no job: what a job left behind."""
    for task in Path("/proc/self/task").iterdir():
        with contextlib.suppress(OSError):
            for pid in map(int, (task / "children").read_text().split()):
                if pid not in known:
                    kill_group(pid)


def apply_limits(limits: Limits, device: str) -> None:
    """Set this process's resource limits.  CUDA maps huge address ranges, so memory is limited on CPU only."""
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    resource.setrlimit(resource.RLIMIT_FSIZE, (limits.file_bytes, limits.file_bytes))
    # The soft limit sends SIGXCPU, which says "timeout" to whoever reads the exit status; the hard one kills.
    cpu = max(1, round(limits.cpu_seconds))
    resource.setrlimit(resource.RLIMIT_CPU, (cpu, cpu + 5))
    if device == "cpu":
        pages = int(Path("/proc/self/statm").read_text().split()[0])
        memory = pages * resource.getpagesize() + limits.memory_bytes
        resource.setrlimit(resource.RLIMIT_AS, (memory, memory))


def _prctl(option: int, value: int) -> None:
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.prctl(option, value, 0, 0, 0) != 0:
        raise OSError(ctypes.get_errno(), "prctl failed")
