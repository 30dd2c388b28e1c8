"""What the operating system does for us: limits, process groups, and no orphans.  Linux only, as Triton is."""

from __future__ import annotations

import contextlib
import ctypes
import math
import os
import resource
import signal
import time
from collections.abc import Container
from pathlib import Path

from autograder.protocol import Limits

_PR_SET_PDEATHSIG = 1
_PR_SET_CHILD_SUBREAPER = 36
_FILES = {False: 256, True: 4096}  # open files; CUDA's driver opens dozens for each GPU
_PATIENCE = 5.0  # seconds for processes that fork faster than they are killed


def become_subreaper() -> None:
    """Have orphaned grandchildren handed to this process, so that it can end them."""
    _prctl(_PR_SET_CHILD_SUBREAPER, 1)


def leave_server(server_pid: int) -> None:
    """In a fresh child: a process group of its own, and death when the server dies."""
    os.setsid()
    die_with(server_pid)


def die_with(server_pid: int) -> None:
    """Have this child killed when the server dies."""
    _prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
    if os.getppid() != server_pid:  # the server died before the line above
        os._exit(1)


def kill_group(pid: int) -> None:
    """Kill a child and its process group."""
    for kill in (os.killpg, os.kill):
        with contextlib.suppress(ProcessLookupError, PermissionError):
            kill(pid, signal.SIGKILL)


def kill_strangers(known: Container[int]) -> None:
    """Kill all that descends from this process and belongs to no job: what a job left behind.

    Who is killed hands his own children on to us, so it is done again until nobody is left.
    """
    end = time.monotonic() + _PATIENCE
    while (strangers := _descendants(known)) and time.monotonic() < end:
        for pid in strangers:
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.kill(pid, signal.SIGKILL)
        for pid in strangers:
            with contextlib.suppress(ChildProcessError):
                os.waitpid(pid, os.WNOHANG)
        time.sleep(0.001)


def _descendants(known: Container[int]) -> list[int]:
    """The children of this process and their children and so on, without the ``known`` ones and theirs."""
    found: list[int] = []
    todo = [os.getpid()]
    while todo:
        for path in Path(f"/proc/{todo.pop()}/task").glob("*/children"):
            with contextlib.suppress(OSError):
                pids = [pid for pid in map(int, path.read_text().split()) if pid not in known]
                found += pids
                todo += pids
    return found


def apply_limits(limits: Limits, device: str, checks: int) -> None:
    """Set this process's limits for ``checks`` checks; `renew_cpu_limit` gives each of them its own CPU time.

    CUDA maps huge address ranges, so memory is limited on CPU only.
    """
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    files = min(_FILES[device == "cuda"], resource.getrlimit(resource.RLIMIT_NOFILE)[1])
    resource.setrlimit(resource.RLIMIT_NOFILE, (files, files))
    resource.setrlimit(resource.RLIMIT_FSIZE, (limits.file_bytes, limits.file_bytes))
    hard = checks * _cpu_seconds(limits) + 5
    resource.setrlimit(resource.RLIMIT_CPU, (_cpu_seconds(limits), hard))
    if device != "cuda":
        pages = int(Path("/proc/self/statm").read_text().split()[0])
        memory = pages * resource.getpagesize() + limits.memory_bytes
        resource.setrlimit(resource.RLIMIT_AS, (memory, memory))


def renew_cpu_limit(limits: Limits) -> None:
    """Give the check that begins now its CPU seconds.

    The soft limit sends SIGXCPU, which says "timeout" to whoever reads the exit status; the hard one kills.
    """
    usage = resource.getrusage(resource.RUSAGE_SELF)
    hard = resource.getrlimit(resource.RLIMIT_CPU)[1]
    soft = math.ceil(usage.ru_utime + usage.ru_stime) + _cpu_seconds(limits)
    resource.setrlimit(resource.RLIMIT_CPU, (min(soft, hard), hard))


def _cpu_seconds(limits: Limits) -> int:
    return max(1, round(limits.cpu_seconds))


def silence(folder: Path) -> None:
    """Standard streams: nothing to read, and whatever is printed goes to a file of limited size."""
    os.chdir(folder)
    null = os.open(os.devnull, os.O_RDONLY)
    log = os.open(folder / "log", os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
    for source, target in ((null, 0), (log, 1), (log, 2)):
        with contextlib.suppress(OSError):
            os.dup2(source, target)
    os.close(null)
    os.close(log)


def _prctl(option: int, value: int) -> None:
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.prctl(option, value, 0, 0, 0) != 0:
        raise OSError(ctypes.get_errno(), "prctl failed")
