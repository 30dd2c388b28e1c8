"""A companion's page in a process of its own: a kernel that ends or hangs that process ends in a sentence.

Limits are set as the grader's worker sets them.  The child says which exercise it is at over a pipe, so that what is
left of it can be told.
"""

import contextlib
import os
import resource
import select
import signal
import subprocess
import sys
import threading
import time

from .student import check_line

_PIPE = "BESIDE_TORCH_PIPE"
_CPU_SECONDS = {"cpu": 30, "cuda": 600}  # of one case; on a GPU its kernel is compiled first
_WALL_SECONDS = 120
_GRACE = 10  # more seconds for a kernel that cannot be interrupted, as within one call of a library


class TooLong(BaseException):
    """A case has used up its time; nothing that a kernel's way through Triton catches."""


def is_apart():
    """Whether this process is the child."""
    return _PIPE in os.environ


def run_apart(arguments):
    """Run this script once more with ``arguments``, or its own, as a child; its exit code.

    Where it did not come to its end, a sentence is printed and the code is 1.
    """
    read, write = os.pipe()
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)  # for the child: Ctrl-C is ours
    shown = sys.stdout is not sys.__stdout__  # a notebook's, which shows what this process prints
    try:
        child = subprocess.Popen(
            [sys.executable, "-u", sys.argv[0], *(sys.argv[1:] if arguments is None else arguments)],
            env={**os.environ, _PIPE: f"{write},{os.getpid()}"},
            pass_fds=[write],
            stdout=subprocess.PIPE if shown else None,
            stderr=subprocess.STDOUT if shown else None,
            text=True,
        )
    finally:
        signal.signal(signal.SIGINT, before)
        os.close(write)
    if shown:
        shower = threading.Thread(target=_show, args=(child.stdout, sys.stdout))
        shower.start()
    try:
        exercise, in_time = _follow(read)
        if not in_time:
            child.kill()
        code = child.wait()
        if shown:
            shower.join()
        return _told(code, exercise, in_time)
    except KeyboardInterrupt:
        print("\nStopped.")
        return 1
    finally:
        child.kill()
        child.wait()
        os.close(read)


def settle(device):
    """In the child, once all is imported: end with the parent, and have the time of each case limited."""
    from autograder.worker.process import die_with

    die_with(int(os.environ[_PIPE].split(",")[1]))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    hard = resource.getrlimit(resource.RLIMIT_CPU)[1]
    hard = 10**6 if hard == resource.RLIM_INFINITY else hard  # seconds: `renew_cpu_limit` wants a number
    resource.setrlimit(resource.RLIMIT_CPU, (hard, hard))
    os.environ["BESIDE_TORCH_DEVICE"] = device


def begins(exercise):
    """A case of an exercise's kernel begins; with "" none is at work any more."""
    if not is_apart():
        return
    from autograder.worker.process import renew_cpu_limit

    device = os.environ.get("BESIDE_TORCH_DEVICE", "cpu")
    signal.signal(signal.SIGXCPU, _too_long)
    renew_cpu_limit(_limits(_CPU_SECONDS[device]))
    os.write(int(os.environ[_PIPE].split(",")[0]), f"{exercise}\n".encode())


def _limits(seconds):
    from autograder.protocol import Limits

    return Limits(cpu_seconds=seconds, wall_seconds=_WALL_SECONDS)


def _too_long(number, frame):
    """The first time an exception, with the line in it; the next time the end."""
    from autograder.worker.process import renew_cpu_limit

    signal.signal(signal.SIGXCPU, signal.SIG_DFL)
    renew_cpu_limit(_limits(_GRACE))
    raise TooLong


def _follow(pipe):
    """The exercise that the child was at in the end, and whether no case went beyond its time."""
    exercise, since = "", time.monotonic()
    while True:
        left = since + _WALL_SECONDS - time.monotonic()
        if exercise and left <= 0:
            return exercise, False
        if not select.select([pipe], [], [], max(left, 0.0) if exercise else None)[0]:
            continue
        said = os.read(pipe, 4096).decode(errors="replace")
        if not said:
            return exercise, True
        exercise, since = said.split("\n")[-2] if "\n" in said else exercise, time.monotonic()


def _told(code, exercise, in_time):
    if code >= 0 and in_time:
        return code
    if not in_time or -code == signal.SIGXCPU:
        print("\nThe kernel did not come to its end. Is there a loop that never ends?", flush=True)
    else:
        with contextlib.suppress(ValueError):
            code = signal.Signals(-code).name
        print(f"\nThe kernel's process was ended by {code}. Is memory touched that is not the kernel's?", flush=True)
    if exercise:
        print("The grader says more about it:")
        print(check_line(exercise))
    return 1


def _show(stream, page):
    for line in stream:
        print(line, end="", flush=True, file=page)
