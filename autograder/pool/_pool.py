"""The pool itself: one fork server for one device, whose children are started and ended here.

The pool shares nothing with the worker but `protocol`, and may be used from many threads at once.
"""

from __future__ import annotations

import contextlib
import json
import os
import re
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Collection, Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from autograder import wrapping
from autograder.errors import WorkerError
from autograder.pool._conversation import Exit, ran_out_of_memory
from autograder.pool._crew import CarryOn, Child, Crew
from autograder.pool._gate import Gate, Shares
from autograder.pool._surroundings import environment
from autograder.pool._workplace import Workplace, full_disk, remove
from autograder.protocol import Job, Programme
from autograder.result import Sandbox

_START_SECONDS = 120.0
_EXIT_SECONDS = 30.0
_CLOSE_SECONDS = 10.0

# The part of a GPU's memory that large checks may fill at once: the rest is for small ones, and each child takes some.
_GPU_MEMORY = 0.8

_NO_ROOM = re.compile(r"No space left on device|Disk quota exceeded")

# What is started. Tests put a worker in its place that lacks layers of the sandbox.
_PROGRAM = ("-m", "autograder.worker")

# What holds by the way in which jobs are made and the worker is started; the other layers are tried out by the worker.
_BY_CONSTRUCTION = ("lifted source", "separate process", "scrubbed environment")


class Pool:
    """A fork server for ``cpu`` (Triton's interpreter), ``cuda`` or ``targets``; a context manager.

    ``targets`` lowers kernels for GPUs that need not be there: each check of a job is a target.  ``folders`` hold the
    launch files of all jobs to come: with them the server can be put into a file system that has nothing else of the
    course, where the machine has bubblewrap.  ``gpu`` is what CUDA_VISIBLE_DEVICES calls the one GPU that a ``cuda``
    server sees; without it, it takes the first.

    Raises:
        WorkerError: the server did not start; the sentence quotes the last line it printed.
        UsageError: whether it is to be in bubblewrap is told by a word that says nothing.
    """

    def __init__(self, device: str, folders: Collection[Path] = (), gpu: str | None = None) -> None:
        self.device = device
        self._folders = [str(folder.resolve()) for folder in folders] if wrapping.is_wanted(device) else []
        self._gpu = gpu
        self._workplace = Workplace()
        self._folder = self._workplace.folder
        self.gate = Gate()
        self.gpu_memory = Shares(_GPU_MEMORY)
        self._lock = threading.Lock()
        self._next_id = 0
        self._exits: dict[int, Exit | None] = {}
        self._changed = threading.Condition(self._lock)
        self._dead: str | None = None
        self._ready = threading.Event()
        self._crews: set[Crew] = set()
        self._sandbox = Sandbox()
        self._process, self._control = self._start()
        self._reader = threading.Thread(target=self._read_control, name="pool-control", daemon=True)
        self._reader.start()

    def __enter__(self) -> Pool:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """End the server and with it every child; remove all temporary files."""
        if not self._ready.is_set():  # it has no children yet, and would not listen before all is imported
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.killpg(self._process.pid, signal.SIGKILL)
        with contextlib.suppress(OSError):
            self._control.shutdown(socket.SHUT_RDWR)
        try:
            self._process.wait(timeout=_CLOSE_SECONDS)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        self._reader.join(timeout=10)
        self._control.close()
        self._workplace.close()

    def wait_ready(self) -> None:
        """Return once the server has imported everything.

        Raises:
            WorkerError: it never got there.
        """
        if not self._ready.wait(_START_SECONDS) or self._dead:
            raise WorkerError(self._dead or "The worker took too long to start. Try again, or see `grade doctor`.")

    @property
    def sandbox(self) -> Sandbox:
        """The layers that hold around each child, and a sentence for each that does not; waits for the worker.

        Raises:
            WorkerError: it never got ready.
        """
        self.wait_ready()
        return self._sandbox

    @contextlib.contextmanager
    def crew(self, programme: Programme | None = None) -> Iterator[Crew]:
        """Children for one hand-in; ``programme`` holds all that they may have to run.

        Raises:
            WorkerError: the server never got ready.
        """
        self.wait_ready()
        # Where children cost a few milliseconds, each job gets one that nothing else was done in.
        crew = Crew(self, programme or {}, reuse=self.device == "cuda")
        with self._lock:
            self._crews.add(crew)
        try:
            yield crew
        finally:
            with self._lock:
                self._crews.discard(crew)
            crew.close()

    def at_work(self) -> tuple[str, ...]:
        """The ids of the checks that are being run."""
        with self._lock:
            crews = list(self._crews)
        return tuple(check for crew in crews for check in crew.at_work())

    def stop_jobs(self) -> None:
        """End what is at work with WorkStopped, from another thread; the server stays, and takes new jobs."""
        with self._lock:
            crews = list(self._crews)
        for crew in crews:
            crew.stop()

    def run(self, job: Job, carry_on: CarryOn) -> None:
        """Run a single job, as `Crew.run` does.

        Raises:
            WorkerError: the server is gone.
        """
        with self.crew() as crew:
            crew.run(job, carry_on)

    def start_child(self, launches: Collection[str]) -> Child:
        """A child that waits for its first job; ``launches`` are the launch files that it may need.

        Raises:
            WorkerError: the server is gone.
        """
        folder = Path(tempfile.mkdtemp(dir=self._folder))
        ours, theirs = socket.socketpair()
        try:
            number = self._open_job(theirs, launches)
        except BaseException:
            ours.close()
            remove(folder)
            raise
        return Child(number, folder, ours)

    def kill_child(self, child: Child) -> None:
        """Kill a child; whoever waits for it sees it end, and calls `end_child`."""
        self._send({"kill": child.number})

    def end_child(self, child: Child) -> Exit:
        """Kill a child, should it still be there, and remove what it left, all but its log's last words in the answer.

        Raises:
            WorkerError: the server is gone.
        """
        with child.connection:
            try:
                self._send({"kill": child.number})
                ended = self._wait_exit(child.number)
                return replace(ended, short_of_memory=ran_out_of_memory(child.folder))
            finally:
                remove(child.folder)

    def _open_job(self, theirs: socket.socket, launches: Collection[str]) -> int:
        with self._lock, theirs:
            if self._dead:
                raise WorkerError(self._dead)
            self._next_id += 1
            self._exits[self._next_id] = None
            start = {"start": self._next_id, "launches": list(launches)}
            try:
                socket.send_fds(self._control, [json.dumps(start).encode()], [theirs.fileno()])
            except OSError as error:
                raise WorkerError("The worker stopped. Run the command again.") from error
            return self._next_id

    def _send(self, message: Mapping[str, Any]) -> None:
        with self._lock, contextlib.suppress(OSError):
            self._control.send(json.dumps(message).encode())

    def _wait_exit(self, job_id: int) -> Exit:
        end = time.monotonic() + _EXIT_SECONDS
        with self._changed:
            while self._exits[job_id] is None:
                if self._dead:
                    raise WorkerError(self._dead)
                if not self._changed.wait(max(0.0, end - time.monotonic())) and time.monotonic() >= end:
                    raise WorkerError("The worker does not answer. Run the command again.")
            ended = self._exits.pop(job_id)
        assert ended is not None
        return ended

    def _start(self) -> tuple[subprocess.Popen[bytes], socket.socket]:
        ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        log = self._folder / "server.log"
        with theirs, log.open("wb") as output:
            process = subprocess.Popen(
                # -P: nothing is imported from the folder that jobs write to.
                [sys.executable, "-P", *_PROGRAM, str(theirs.fileno()), self.device, *self._more()],
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=output,
                pass_fds=[theirs.fileno()],
                cwd=self._folder,
                env=environment(self.device, self._folder, self._gpu),
                start_new_session=True,
            )
        return process, ours

    def _more(self) -> list[str]:
        return [json.dumps({"folders": self._folders})] if self._folders else []

    def _read_control(self) -> None:
        while True:
            try:
                raw = self._control.recv(64 * 1024)
            except OSError:
                raw = b""
            if not raw:
                break
            message = json.loads(raw)
            if "ready" in message:
                held = message["ready"]["sandbox"]
                self._sandbox = Sandbox((*_BY_CONSTRUCTION, *held["layers"]), tuple(held["missing"]))
                self._ready.set()
            elif "ended" in message:
                with self._changed:
                    self._exits[message["ended"]] = Exit(message["code"], message["signal"])
                    self._changed.notify_all()
        with self._changed:
            self._dead = self._last_words()
            self._changed.notify_all()
        self._ready.set()

    def _last_words(self) -> str:
        with contextlib.suppress(OSError):
            rows = (self._folder / "server.log").read_text(errors="replace").strip().splitlines()
            if rows and not self._ready.is_set():
                if _NO_ROOM.search(rows[-1]):
                    return f"The worker did not start. {full_disk()}"
                why = rows[-1][:300].rstrip(".")
                return f"The worker did not start: {why}. Run `grade doctor` to see what is missing."
        return "The worker stopped. Run the command again."
