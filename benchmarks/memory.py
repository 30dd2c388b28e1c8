"""Memory of a process and all its descendants, as resident pages counted once (PSS); Linux."""

from __future__ import annotations

import subprocess
import threading
from collections.abc import Callable
from pathlib import Path

_SECONDS = 0.05  # between two looks


def watch(command: list[str], cwd: Path, look: Callable[[float], None]) -> int:
    """Run a command; ``look`` gets its memory in bytes now and then.  Returns the exit code."""
    process = subprocess.Popen(command, cwd=cwd, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    done = threading.Event()

    def sample() -> None:
        while not done.wait(_SECONDS):
            look(sum(_pss(pid) for pid in _tree(process.pid)))

    thread = threading.Thread(target=sample)
    thread.start()
    code = process.wait()
    done.set()
    thread.join()
    return code


def _tree(pid: int) -> list[int]:
    pids = [pid]
    for parent in pids:
        for task in Path(f"/proc/{parent}/task").glob("*/children"):
            try:
                pids += [int(child) for child in task.read_text().split()]
            except OSError:
                continue
    return pids


def _pss(pid: int) -> float:
    try:
        for line in Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines():
            if line.startswith("Pss:"):
                return float(line.split()[1]) * 1024
    except OSError:
        pass
    return 0.0
