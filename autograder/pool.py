"""The trusted handle on workers: start the fork server, feed it jobs, read raw replies, kill what does not end.

The pool shares nothing with the worker but `protocol`.  `Pool.run` may be called from many threads at once; each call
has one child at a time.  A child that dies costs the check it was at: the rest of its job goes on in a fresh child.
"""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import signal
import site
import socket
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from autograder.errors import WorkerError
from autograder.protocol import (
    MAX_REPLY_HEADER_BYTES,
    CheckJob,
    CheckReply,
    Job,
    Promise,
    ProtocolError,
    StreamEnded,
    decode_promise,
    decode_reply,
    encode_job,
    keeps_promise,
    promised_bytes,
    read_frame,
)

_START_SECONDS = 120.0
_EXIT_SECONDS = 30.0
_CLOSE_SECONDS = 10.0

# What a worker may see of our environment.  Everything else, tokens and passwords above all, stays here.
_PASSED_ON = ("PATH", "LD_LIBRARY_PATH", "LANG", "LC_ALL", "CUDA_VISIBLE_DEVICES", "CUDA_HOME", "CC", "TZ")


# Gets a reply and the check that would follow; False leaves the rest out.
CarryOn = Callable[[CheckReply, CheckJob | None], bool]


@dataclass(frozen=True, slots=True)
class _Exit:
    """How a child ended."""

    code: int
    signal: int


class Pool:
    """A fork server for ``cpu`` (Triton's interpreter), ``cuda`` or ``targets``; a context manager.

    ``targets`` lowers kernels for GPUs that need not be there: each check of a job is a target.

    Raises:
        WorkerError: the server did not start; the sentence quotes the last line it printed.
    """

    def __init__(self, device: str) -> None:
        self.device = device
        self._folder = Path(tempfile.mkdtemp(prefix="autograder-"))
        self._gate = _Gate()
        self._lock = threading.Lock()
        self._next_id = 0
        self._exits: dict[int, _Exit | None] = {}
        self._changed = threading.Condition(self._lock)
        self._dead: str | None = None
        self._ready = threading.Event()
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
        _remove(self._folder)

    def wait_ready(self) -> None:
        """Return once the server has imported everything.

        Raises:
            WorkerError: it never got there.
        """
        if not self._ready.wait(_START_SECONDS) or self._dead:
            raise WorkerError(self._dead or "The worker took too long to start. Try again, or see `grade doctor`.")

    def run(self, job: Job, carry_on: CarryOn) -> None:
        """Run a job's checks in order; ``carry_on`` gets each reply and the check that would follow, if any.

        It returns False to leave the rest out.  One child does the checks one after another; after one that does not
        run to its end, the rest go on in a fresh child.  A check that hits a time limit is run once more with nothing
        beside it, and only then counts as a timeout.

        Raises:
            WorkerError: the server is gone.
        """
        self.wait_ready()
        left = list(job.checks)

        def settle(reply: CheckReply) -> bool:
            left.pop(0)
            return carry_on(reply, left[0] if left else None)

        go_on = True
        while left and go_on:
            with self._gate.shared():
                go_on, blame = self._run_child(replace(job, checks=tuple(left)), settle)
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
        return replies[0] if replies else blame or _ended_early(check)

    def _run_child(self, job: Job, settle: Callable[[CheckReply], bool]) -> tuple[bool, CheckReply | None]:
        """One child: hand each reply to ``settle`` as it comes.

        Returns whether to go on, and what to say of the first check without a reply: None if there is none, or if the
        child is not to blame and the rest can go on in a fresh one.
        """
        folder = Path(tempfile.mkdtemp(dir=self._folder))
        ours, theirs = socket.socketpair()
        job_id = self._open_job(theirs)
        unanswered = list(job.checks)
        blame: CheckReply | None = None
        go_on = True
        try:
            with ours:
                for reply in _replies(ours, job, folder):
                    unanswered.pop(0)
                    if not (go_on := settle(reply)):
                        break
        except _Broken as broken:
            blame = CheckReply(unanswered[0].id, broken.outcome, broken.message)
        finally:
            self._send({"kill": job_id})
            ended = self._wait_exit(job_id)
            _remove(folder)
        if go_on and unanswered and blame is None:
            blame = _blame(unanswered[0], ended)
            if blame is None and len(unanswered) == len(job.checks):
                blame = _ended_early(unanswered[0])
        return go_on, blame

    def _open_job(self, theirs: socket.socket) -> int:
        with self._lock, theirs:
            if self._dead:
                raise WorkerError(self._dead)
            self._next_id += 1
            self._exits[self._next_id] = None
            try:
                socket.send_fds(self._control, [json.dumps({"start": self._next_id}).encode()], [theirs.fileno()])
            except OSError as error:
                raise WorkerError("The worker stopped. Run the command again.") from error
            return self._next_id

    def _send(self, message: Mapping[str, Any]) -> None:
        with self._lock, contextlib.suppress(OSError):
            self._control.send(json.dumps(message).encode())

    def _wait_exit(self, job_id: int) -> _Exit:
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
                [sys.executable, "-P", "-m", "autograder.worker", str(theirs.fileno()), self.device],
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=output,
                pass_fds=[theirs.fileno()],
                cwd=self._folder,
                env=_environment(self.device, self._folder),
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
                self._ready.set()
            elif "ended" in message:
                with self._changed:
                    self._exits[message["ended"]] = _Exit(message["code"], message["signal"])
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


class _Broken(Exception):
    """The conversation with a child cannot go on; says how its current check ended."""

    def __init__(self, outcome: str, message: str) -> None:
        super().__init__(message)
        self.outcome = outcome
        self.message = message


def _replies(connection: socket.socket, job: Job, folder: Path) -> Iterator[CheckReply]:
    """Send the job and yield the replies until all are there or the child ends.

    Raises:
        _Broken: a time limit is hit, or the child talks nonsense.
    """
    stream = _Stream(connection)
    try:
        stream.limit(job.limits.wall_seconds)
        connection.sendall(encode_job(job, str(folder)))
        # Where kernels are only lowered, no reply brings outputs.
        promise: Promise | None = {check.id: {} for check in job.checks} if job.device == "targets" else None
        for check in job.checks:
            stream.limit(job.limits.wall_seconds)
            frame = _frame(stream, job, promise)
            if promise is None and frame is not None and frame[0].get("kind") == "promise":
                promise = decode_promise(*frame)
                frame = _frame(stream, job, promise)
            if frame is None:
                return
            reply = decode_reply(*frame)
            if reply.id != check.id or not _may_say(reply, promise):
                raise ProtocolError("a reply that was not asked for")
            yield reply
    except TimeoutError:
        limit = f"{job.limits.wall_seconds:.0f} s"
        raise _Broken("timeout", f"The check did not end within {limit}. Is there a loop that never ends?") from None
    except StreamEnded:
        return
    except ProtocolError:
        message = "The kernel's process sent something that is no result, and was stopped."
        raise _Broken("crashed", message) from None
    except OSError:
        return  # the child died while we wrote to it: its exit status tells how


def _frame(stream: _Stream, job: Job, promise: Promise | None) -> tuple[Mapping[str, Any], memoryview] | None:
    payload = min(job.limits.output_bytes, promised_bytes(promise or {}))
    return read_frame(stream.read, payload, MAX_REPLY_HEADER_BYTES)


def _may_say(reply: CheckReply, promise: Promise | None) -> bool:
    """Whether a child can know what it says.

    Before its promise nothing of the student's has run, and only the course can be at fault; after it, never.  Whether
    time is up is for the pool to say.
    """
    if promise is None:
        return reply.outcome == "grader-error"
    return reply.outcome not in ("grader-error", "timeout") and keeps_promise(reply, promise)


class _Gate:
    """Many may pass at once, or one alone."""

    def __init__(self) -> None:
        self._condition = threading.Condition()
        self._inside = 0
        self._closed = False

    @contextlib.contextmanager
    def shared(self) -> Iterator[None]:
        with self._condition:
            self._condition.wait_for(lambda: not self._closed)
            self._inside += 1
        try:
            yield
        finally:
            with self._condition:
                self._inside -= 1
                self._condition.notify_all()

    @contextlib.contextmanager
    def alone(self) -> Iterator[None]:
        with self._condition:
            self._condition.wait_for(lambda: not self._closed)
            self._closed = True
            self._condition.wait_for(lambda: self._inside == 0)
        try:
            yield
        finally:
            with self._condition:
                self._closed = False
                self._condition.notify_all()


class _Stream:
    """Reads from a socket against a deadline, which holds for a whole frame, however slowly it drips."""

    def __init__(self, connection: socket.socket) -> None:
        self._connection = connection
        self._end = 0.0

    def limit(self, seconds: float) -> None:
        self._end = time.monotonic() + seconds
        self._connection.settimeout(seconds)

    def read(self, size: int) -> bytes:
        left = self._end - time.monotonic()
        if left <= 0:
            raise TimeoutError
        self._connection.settimeout(left)
        try:
            return self._connection.recv(size)
        except ConnectionError:
            return b""


def _ended_early(check: CheckJob) -> CheckReply:
    return CheckReply(check.id, "crashed", "The kernel's process ended before it had a result.")


def _blame(check: CheckJob, ended: _Exit) -> CheckReply | None:
    """What a child's exit says of the check it left unanswered; None if it left by itself, as after a CUDA error."""
    if ended.signal == signal.SIGXCPU:
        return CheckReply(check.id, "timeout", "The check used up its CPU time. Is there a loop that never ends?")
    if ended.signal == signal.SIGXFSZ:
        return CheckReply(check.id, "crashed", "The kernel's process wrote more to disk than a check may write.")
    if ended.signal:
        name = _signal_name(ended.signal)
        message = f"The kernel's process was ended by {name}. Is memory touched that is not the kernel's?"
        return CheckReply(check.id, "crashed", message)
    if ended.code:
        return CheckReply(check.id, "crashed", f"The kernel's process ended with exit code {ended.code}.")
    return None


def _signal_name(number: int) -> str:
    try:
        return signal.Signals(number).name
    except ValueError:  # most real-time signals have none
        return f"signal {number}"


def _remove(folder: Path) -> None:
    """Remove a folder that hostile code may have filled; what resists stays behind in the temporary folder."""
    try:
        shutil.rmtree(folder, ignore_errors=True)
    except RecursionError:  # a thousand folders inside each other; `rm` goes down without recursion
        subprocess.run(["rm", "-rf", "--", str(folder)], stdin=subprocess.DEVNULL, capture_output=True, check=False)


def _environment(device: str, folder: Path) -> dict[str, str]:
    environment = {name: os.environ[name] for name in _PASSED_ON if name in os.environ}
    package = str(Path(__file__).resolve().parent.parent)
    environment.update(
        PYTHONPATH=os.pathsep.join(filter(None, [package, *_import_folders()])),
        PYTHONDONTWRITEBYTECODE="1",
        PYTHONHASHSEED="0",
        HOME=str(folder),
        PYTHONUSERBASE=site.getuserbase(),  # HOME is another, and torch may be installed for this user
        TMPDIR=str(folder),
        TRITON_CACHE_DIR=str(folder / "triton-cache"),
        TRITON_DEFAULT_FP_FUSION="1",
        OMP_NUM_THREADS="1",
        OPENBLAS_NUM_THREADS="1",
        MKL_NUM_THREADS="1",
    )
    if device == "cpu":
        environment["TRITON_INTERPRET"] = "1"
    if device != "cuda":
        environment["CUDA_VISIBLE_DEVICES"] = ""
    return environment


def _import_folders() -> list[str]:
    """PYTHONPATH as we were given it, since torch may be found through it; without relative folders.

    They would mean the folder that jobs write to, and here they may mean a hand-in.
    """
    return [folder for folder in os.environ.get("PYTHONPATH", "").split(os.pathsep) if os.path.isabs(folder)]
