"""The conversation with one child: send a job, read its replies against deadlines, believe nothing unchecked."""

from __future__ import annotations

import os
import signal
import socket
import stat
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from autograder.protocol import (
    MAX_REPLY_HEADER_BYTES,
    CheckJob,
    CheckReply,
    Job,
    Outputs,
    Programme,
    Promise,
    ProtocolError,
    StreamEnded,
    decode_promise,
    decode_reply,
    encode_go,
    encode_job,
    keeps_promise,
    promised_bytes,
    read_frame,
)

_TOUCHED = "Is memory touched that is not the kernel's?"
_SHORT = "If this machine is short of memory, close other programs and try again."

# What a fault of a program's own ends it with; any other signal was sent, by somebody or by a machine short of memory.
_OWN_FAULTS = frozenset(
    {
        signal.SIGILL,
        signal.SIGTRAP,
        signal.SIGABRT,
        signal.SIGBUS,
        signal.SIGFPE,
        signal.SIGSEGV,
        signal.SIGSYS,
        signal.SIGXCPU,
        signal.SIGXFSZ,
    }
)


class Broken(Exception):
    """The conversation with a child cannot go on; says how its current check ended."""

    def __init__(self, outcome: str, message: str) -> None:
        super().__init__(message)
        self.outcome = outcome
        self.message = message


@dataclass(frozen=True, slots=True)
class Exit:
    """How a child ended; ``short_of_memory`` if its last words were that it got none."""

    code: int
    signal: int
    short_of_memory: bool = False


@dataclass(frozen=True, slots=True)
class Blame:
    """What is said of a check that got no reply; ``doubtful`` if it may go better with nothing beside it."""

    reply: CheckReply
    doubtful: bool = False


class Conversation:
    """With one child, about one job after another."""

    def __init__(self, connection: socket.socket, folder: Path) -> None:
        self._connection = connection
        self._folder = folder
        self._stream = _Stream(connection)
        self._promise: Promise | None = None
        self._known: Programme = {}
        self.waits = False  # for a word: it has nothing to do
        self.check = ""  # the one that the child is at

    def can_take(self, job: Job) -> bool:
        """Whether the child waits for a word, and has promised what the job will bring before it ran anything."""
        if not self.waits or self._promise is None:
            return False
        promised, known = self._promise.get(job.launch, {}), self._known.get(job.launch, {})
        return all(check.id in promised and known.get(check.id) == check.case for check in job.checks)

    def replies(self, job: Job) -> Iterator[CheckReply]:
        """Send the job and yield the replies until all are there or the child ends.

        Raises:
            Broken: a time limit is hit, or the child talks nonsense.
        """
        try:
            self.waits = False
            self._stream.limit(job.limits.wall_seconds)
            if self._promise is None:
                self._known = job.whole_programme
            self._connection.sendall(encode_job(job, str(self._folder)))
            for place, check in enumerate(job.checks):
                self.waits, self.check = False, check.id
                self._stream.limit(job.limits.wall_seconds)
                if place == job.unasked:
                    self._connection.sendall(encode_go())
                reply = self._reply(job, check)
                if reply is None:
                    return
                self.waits = not reply.leaving and place + 1 in (job.unasked, len(job.checks))
                yield reply
        except TimeoutError:
            limit = f"{job.limits.wall_seconds:.0f} s"
            message = f"The check did not end within {limit}. Is there a loop that never ends?"
            raise Broken("timeout", message) from None
        except StreamEnded:
            return
        except ProtocolError:
            message = "The kernel's process sent something that is no result, and was stopped."
            raise Broken("crashed", message) from None
        except OSError:
            return  # the child died while we wrote to it: its exit status tells how

    def _reply(self, job: Job, check: CheckJob) -> CheckReply | None:
        """The reply to a check; None if the child has left.  Its promise comes before its first."""
        frame = self._frame(job, check)
        if self._promise is None and frame is not None and frame[0].get("kind") == "promise":
            self._promise = decode_promise(*frame)
            frame = self._frame(job, check)
        if frame is None:
            return None
        reply = decode_reply(*frame)
        too_much = len(reply.recording) > job.recording
        if reply.id != check.id or too_much or not _may_say(reply, self._outputs(job, check)):
            raise ProtocolError("a reply that was not asked for")
        return reply

    def _frame(self, job: Job, check: CheckJob) -> tuple[Mapping[str, Any], memoryview] | None:
        payload = min(job.limits.output_bytes, promised_bytes(self._outputs(job, check) or {})) + job.recording
        return read_frame(self._stream.read, payload, MAX_REPLY_HEADER_BYTES)

    def _outputs(self, job: Job, check: CheckJob) -> Outputs | None:
        """What was promised for a check; None before the promise.  Where kernels are only lowered, nothing is."""
        if job.device == "targets":
            return {}
        if self._promise is None:
            return None
        outputs = self._promise.get(job.launch, {}).get(check.id)
        if outputs is None:
            raise ProtocolError("a check for which nothing was promised")
        return outputs


def _may_say(reply: CheckReply, outputs: Outputs | None) -> bool:
    """Whether a child can know what it says; ``outputs`` are what it has promised.

    Before its promise nothing of the student's has run, and only the course can be at fault; after it, never.  Whether
    time is up is for the pool to say.
    """
    if outputs is None:
        return reply.outcome == "grader-error"
    return reply.outcome not in ("grader-error", "timeout") and keeps_promise(reply, outputs)


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


def ended_early(check: CheckJob) -> Blame:
    return Blame(CheckReply(check.id, "crashed", "The kernel's process ended before it had a result."))


def blame_of(check: CheckJob, ended: Exit, job: Job) -> Blame | None:
    """What a child's exit says of the check it left unanswered; None if it left by itself, as after a CUDA error."""
    whose = "The compiler" if job.device == "targets" else "The kernel's process"
    if ended.signal == signal.SIGXCPU:
        message = "The check used up its CPU time. Is there a loop that never ends?"
        return Blame(CheckReply(check.id, "timeout", message), doubtful=True)
    if ended.signal == signal.SIGXFSZ:
        return _crash(check, f"{whose} wrote more to disk than a check may write.")
    if ended.signal and ended.short_of_memory:
        gigabytes = job.limits.memory_bytes / 1024**3
        message = f"{whose} needed more than the {gigabytes:.3g} GB of memory that a check may use."
        return _crash(check, f"{message} Is there a loop that unrolls without end?")
    if ended.signal and ended.signal not in _OWN_FAULTS:
        message = f"{whose} was ended by {_signal_name(ended.signal)}, also with nothing else running. {_SHORT}"
        return _crash(check, message, doubtful=True)
    if ended.signal:
        guess = "Is a tile or a loop far too large?" if job.device == "targets" else _TOUCHED
        return _crash(check, f"{whose} was ended by {_signal_name(ended.signal)}. {guess}")
    if ended.code:
        return _crash(check, f"{whose} ended with exit code {ended.code}.")
    return None


def _crash(check: CheckJob, message: str, doubtful: bool = False) -> Blame:
    return Blame(CheckReply(check.id, "crashed", message), doubtful)


def ran_out_of_memory(folder: Path) -> bool:
    """Whether a child's last words are those of C++ code that gets no memory.

    Only a guess at the wording: a kernel that could print these words would lose the check all the same.
    """
    try:
        # The child may have put anything in the place of its log: a link, or a pipe that nobody writes to.
        handle = os.open(folder / "log", os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
        with open(handle, "rb") as stream:
            if not stat.S_ISREG(os.fstat(handle).st_mode):
                return False
            stream.seek(max(0, os.fstat(handle).st_size - 4096))
            tail = stream.read(4096)
    except OSError:
        return False
    return any(words in tail for words in (b"bad_alloc", b"out of memory"))


def _signal_name(number: int) -> str:
    try:
        return signal.Signals(number).name
    except ValueError:  # most real-time signals have none
        return f"signal {number}"
