"""The children that one hand-in's jobs run in.

Opening CUDA takes a child longer than most checks.  There, a child does one job after another of the same hand-in, as
long as nothing went wrong in it.  A child that dies costs the check it was at: the rest of its job goes on in a fresh
child.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Collection
from dataclasses import dataclass, field, replace
from pathlib import Path
from socket import socket
from typing import Protocol

from autograder.errors import WorkStopped
from autograder.pool._conversation import Blame, Broken, Conversation, Exit, blame_of, ended_early
from autograder.pool._gate import Gate, Shares
from autograder.protocol import RAN, CheckJob, CheckReply, Job, Programme

_FIRST_TRY = 0.25

# After these nothing of a job's can be left in memory that is not its own.
_HARMLESS = frozenset({RAN, "compile-error"})

# Gets a reply and the check that would follow; False leaves the rest out.
CarryOn = Callable[[CheckReply, CheckJob | None], bool]


@dataclass(slots=True)
class Child:
    """A child of the server: its number there, the folder that it may write to, and our end of its socket."""

    number: int
    folder: Path
    connection: socket
    conversation: Conversation = field(init=False)

    def __post_init__(self) -> None:
        self.conversation = Conversation(self.connection, self.folder)


class _Server(Protocol):
    """What starts and ends children."""

    gate: Gate
    gpu_memory: Shares

    def start_child(self, launches: Collection[str]) -> Child: ...

    def end_child(self, child: Child) -> Exit: ...

    def kill_child(self, child: Child) -> None: ...


class Crew:
    """The children of one hand-in; `run` may be called from many threads at once, and each call has a child at a time.

    With ``reuse`` a child that has done its job well gets the next one.  It has promised the outputs of the whole
    ``programme`` before it ran anything of the student's, so that it cannot choose what the judge gets to see.
    """

    def __init__(self, server: _Server, programme: Programme, reuse: bool) -> None:
        self._server = server
        self._programme = programme if reuse else {}
        self._reuse = reuse
        self._lock = threading.Lock()
        self._idle: list[Child] = []
        self._busy: list[Child] = []
        self._stopped = False

    def at_work(self) -> tuple[str, ...]:
        """The ids of the checks that children are at."""
        with self._lock:
            return tuple(child.conversation.check for child in self._busy if child.conversation.check)

    def stop(self) -> None:
        """Kill the children that are at work; their jobs end with WorkStopped, and so does whatever comes after."""
        with self._lock:
            self._stopped = True
            for child in self._busy:
                self._server.kill_child(child)

    def run(self, job: Job, carry_on: CarryOn) -> None:
        """Run a job's checks in order; ``carry_on`` gets each reply and the check that would follow, if any.

        It returns False to leave the rest out.  One child does the checks one after another; after one that does not
        run to its end, the rest go on in a fresh child.  A check that hits a time limit is run once more with nothing
        beside it, and only then counts as a timeout; so is one whose child was killed by somebody else, or for which
        there was no memory on the GPU.  The first time it gets a part of its CPU time, so that an endless loop is found
        out early.

        Raises:
            WorkerError: the server is gone.
            WorkStopped: somebody called `stop`.
        """
        first = replace(job.limits, cpu_seconds=job.limits.cpu_seconds * _FIRST_TRY)
        job = replace(job, programme=self._programme)
        done = 0

        def settle(reply: CheckReply) -> bool:
            nonlocal done
            done += 1
            return carry_on(reply, job.checks[done] if done < len(job.checks) else None)

        go_on = True
        while done < len(job.checks) and go_on:
            # First the memory, then the gate: whoever waits for memory is not waited for.
            with self._server.gpu_memory.held(job.gpu_share), self._server.gate.shared():
                go_on, blame = self._run_child(replace(_without(job, done), limits=first), settle)
            if go_on and blame is not None:
                check = job.checks[done]
                go_on = settle(self._second_try(job, check) if blame.doubtful else blame.reply)

    def run_alone(self, job: Job, carry_on: CarryOn) -> None:
        """Run a job's checks in order in fresh children, with nothing beside them, as `run` does otherwise.

        Raises:
            WorkerError: the server is gone.
            WorkStopped: somebody called `stop`.
        """
        done = 0

        def settle(reply: CheckReply) -> bool:
            nonlocal done
            done += 1
            return carry_on(reply, job.checks[done] if done < len(job.checks) else None)

        go_on = True
        with self._server.gate.alone():
            while done < len(job.checks) and go_on:
                go_on, blame = self._run_child(_without(job, done), settle, fresh=True)
                if go_on and blame is not None:
                    go_on = settle(blame.reply)

    def close(self) -> None:
        """End all children."""
        with self._lock:
            idle, self._idle = self._idle, []
        for child in idle:
            self._server.end_child(child)

    def _second_try(self, job: Job, check: CheckJob) -> CheckReply:
        """Run one check with nothing beside it."""
        replies: list[CheckReply] = []

        def settle(reply: CheckReply) -> bool:
            replies.append(reply)
            return True

        with self._server.gate.alone():
            _, blame = self._run_child(replace(job, checks=(check,), unasked=None), settle, fresh=True)
        return replies[0] if replies else (blame or ended_early(check)).reply

    def _run_child(
        self, job: Job, settle: Callable[[CheckReply], bool], fresh: bool = False
    ) -> tuple[bool, Blame | None]:
        """One child: hand each reply to ``settle`` as it comes.

        Returns whether to go on, and what to say of the first check without a reply: None if there is none, or if the
        child is not to blame and the rest can go on in a fresh one.
        """
        child, used = self._child(job, fresh)
        unanswered = list(job.checks)
        blame: Blame | None = None
        go_on, leaving, clean = True, False, True
        kept = False
        try:
            for reply in child.conversation.replies(job):
                if job.device == "cuda" and reply.outcome == "out-of-memory":  # others may have had it
                    blame = Blame(reply, doubtful=True)
                    break
                unanswered.pop(0)
                clean = clean and reply.outcome in _HARMLESS
                go_on, leaving = settle(reply), reply.leaving
                if leaving or not go_on:
                    break
            kept = self._reuse and clean and blame is None and child.conversation.waits
        except Broken as broken:
            reply = CheckReply(unanswered[0].id, broken.outcome, broken.message)
            blame = Blame(reply, doubtful=broken.outcome == "timeout")
        finally:
            with self._lock:
                self._busy.remove(child)
                kept = kept and not self._stopped
                if kept:
                    self._idle.append(child)
            if not kept:
                ended = self._server.end_child(child)
        self._go_on()
        if go_on and unanswered and blame is None and not leaving and not kept:
            blame = blame_of(unanswered[0], ended, job)
            if len(unanswered) == len(job.checks):
                # One that has done other jobs may have died of those: a fresh one will tell.
                blame = None if used else blame or ended_early(unanswered[0])
        return go_on, blame

    def _child(self, job: Job, fresh: bool) -> tuple[Child, bool]:
        """A child for a job, and whether it has done others before."""
        self._go_on()
        with self._lock:
            able = [] if fresh else [child for child in self._idle if child.conversation.can_take(job)]
            if able:
                self._idle.remove(able[-1])
                self._busy.append(able[-1])
                return able[-1], True
        child = self._server.start_child(job.whole_programme)
        with self._lock:
            self._busy.append(child)
            if self._stopped:  # in the meantime
                self._server.kill_child(child)
        return child, False

    def _go_on(self) -> None:
        """Raises WorkStopped where the crew was told to stop."""
        if self._stopped:
            raise WorkStopped("Stopped, since there is something newer to do.")


def _without(job: Job, done: int) -> Job:
    """A job without its first checks, of which ``done`` have their replies."""
    unasked = None if job.unasked is None else max(0, job.unasked - done)
    return replace(job, checks=job.checks[done:], unasked=unasked)
