"""The pool itself: one fork server for one device, and the jobs that run in its children.

The pool shares nothing with the worker but `protocol`.  `Pool.run` may be called from many threads at once; each call
has one child at a time.  A child that dies costs the check it was at: the rest of its job goes on in a fresh child.
"""

from __future__ import annotations

import contextlib
import json
import socket
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from autograder.errors import WorkerError
from autograder.pool._conversation import Broken, Exit, blame_of, ended_early, ran_out_of_memory, replies
from autograder.pool._gate import Gate
from autograder.pool._surroundings import environment
from autograder.pool._workplace import Workplace, remove
from autograder.protocol import CheckJob, CheckReply, Job
from autograder.result import Sandbox

_START_SECONDS = 120.0
_EXIT_SECONDS = 30.0
_FIRST_TRY = 0.25
_CLOSE_SECONDS = 10.0

# What is started. Tests put a worker in its place that lacks layers of the sandbox.
_PROGRAM = ("-m", "autograder.worker")

# What holds by the way in which jobs are made and the worker is started; the other layers are tried out by the worker.
_BY_CONSTRUCTION = ("lifted source", "separate process", "scrubbed environment")

# Gets a reply and the check that would follow; False leaves the rest out.
CarryOn = Callable[[CheckReply, CheckJob | None], bool]


class Pool:
    """A fork server for ``cpu`` (Triton's interpreter), ``cuda`` or ``targets``; a context manager.

    ``targets`` lowers kernels for GPUs that need not be there: each check of a job is a target.

    Raises:
        WorkerError: the server did not start; the sentence quotes the last line it printed.
    """

    def __init__(self, device: str) -> None:
        self.device = device
        self._workplace = Workplace()
        self._folder = self._workplace.folder
        self._gate = Gate()
        self._lock = threading.Lock()
        self._next_id = 0
        self._exits: dict[int, Exit | None] = {}
        self._changed = threading.Condition(self._lock)
        self._dead: str | None = None
        self._ready = threading.Event()
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

    def run(self, job: Job, carry_on: CarryOn) -> None:
        """Run a job's checks in order; ``carry_on`` gets each reply and the check that would follow, if any.

        It returns False to leave the rest out.  One child does the checks one after another; after one that does not
        run to its end, the rest go on in a fresh child.  A check that hits a time limit is run once more with nothing
        beside it, and only then counts as a timeout.  The first time it gets a part of its CPU time, so that an endless
        loop is found out early.

        Raises:
            WorkerError: the server is gone.
        """
        self.wait_ready()
        left = list(job.checks)
        first = replace(job.limits, cpu_seconds=job.limits.cpu_seconds * _FIRST_TRY)

        def settle(reply: CheckReply) -> bool:
            left.pop(0)
            return carry_on(reply, left[0] if left else None)

        go_on = True
        while left and go_on:
            with self._gate.shared():
                go_on, blame = self._run_child(replace(job, checks=tuple(left), limits=first), settle)
            if go_on and blame is not None:
                go_on = settle(self._second_try(job, left[0]) if blame.outcome == "timeout" else blame)

    def _second_try(self, job: Job, check: CheckJob) -> CheckReply:
        """Run one check with nothing beside it."""
        replies: list[CheckReply] = []

        def settle(reply: CheckReply) -> bool:
            replies.append(reply)
            return True

        with self._gate.alone():
            _, blame = self._run_child(replace(job, checks=(check,)), settle)
        return replies[0] if replies else blame or ended_early(check)

    def _run_child(self, job: Job, settle: Callable[[CheckReply], bool]) -> tuple[bool, CheckReply | None]:
        """One child: hand each reply to ``settle`` as it comes.

        Returns whether to go on, and what to say of the first check without a reply: None if there is none, or if the
        child is not to blame and the rest can go on in a fresh one.
        """
        folder = Path(tempfile.mkdtemp(dir=self._folder))
        ours, theirs = socket.socketpair()
        unanswered = list(job.checks)
        blame: CheckReply | None = None
        go_on, leaving = True, False
        with ours, contextlib.ExitStack() as cleanup:
            cleanup.callback(remove, folder)
            job_id = self._open_job(theirs, job.launch)
            try:
                for reply in replies(ours, job, folder):
                    unanswered.pop(0)
                    go_on, leaving = settle(reply), reply.leaving
                    if leaving or not go_on:
                        break
            except Broken as broken:
                blame = CheckReply(unanswered[0].id, broken.outcome, broken.message)
            finally:
                self._send({"kill": job_id})
                ended = self._wait_exit(job_id)
            short_of_memory = ran_out_of_memory(folder)
        if go_on and unanswered and blame is None and not leaving:
            blame = blame_of(unanswered[0], ended, job, short_of_memory)
            if blame is None and len(unanswered) == len(job.checks):
                blame = ended_early(unanswered[0])
        return go_on, blame

    def _open_job(self, theirs: socket.socket, launch: str) -> int:
        with self._lock, theirs:
            if self._dead:
                raise WorkerError(self._dead)
            self._next_id += 1
            self._exits[self._next_id] = None
            start = {"start": self._next_id, "launch": launch}
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
                [sys.executable, "-P", *_PROGRAM, str(theirs.fileno()), self.device],
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=output,
                pass_fds=[theirs.fileno()],
                cwd=self._folder,
                env=environment(self.device, self._folder),
                start_new_session=True,
            )
        return process, ours

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
                return f"The worker did not start: {rows[-1][:300]} Run `grade doctor` to see what is missing."
        return "The worker stopped. Run the command again."
