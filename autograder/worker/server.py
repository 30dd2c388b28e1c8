"""The fork server: it has what a job needs imported, forks one child a job, and leaves no process behind.

The control socket carries small JSON messages.  From the pool: ``{"start": id, "launches": [path, ...]}`` with the
child's own socket attached, and ``{"kill": id}``.  To the pool: ``{"ready": ...}`` once, with the layers of the sandbox
that hold and sentences on those that do not; then ``{"ended": id, "code": c, "signal": s}`` for each child.  When the
control socket closes, because the pool is done or dead, all children are killed.

The server itself never runs a line of a student's, and never touches CUDA: a CUDA context does not survive a fork.
"""

from __future__ import annotations

import contextlib
import gc
import json
import os
import selectors
import signal
import socket
import sys
from dataclasses import replace
from typing import Any

from autograder.worker import process
from autograder.worker.sandbox import Confinement, Inside, Outcome, Unusable, probe

_MAX_MESSAGE = 64 * 1024
# Checks wait for torch, and reports for both: what the compiler's server does meanwhile shall not hold torch up.
_LESS_URGENT = 5


class Server:
    """Forks children for jobs that arrive on ``control`` until the other end closes it."""

    def __init__(self, control: socket.socket, device: str, inside: Inside | None = None) -> None:
        self._control = control
        self._device = device
        self._inside = inside
        self._jobs: dict[int, int] = {}  # pid -> job id
        self._uids: dict[int, int] = {}  # pid -> user id, where each child has one of its own
        self._sandbox: Outcome | None = None
        self._selector = selectors.DefaultSelector()
        self._wake_read, self._wake_write = socket.socketpair()
        for end in (self._wake_read, self._wake_write):
            end.setblocking(False)

    def serve(self) -> None:
        process.become_subreaper()
        signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is the pool's to handle
        signal.signal(signal.SIGHUP, signal.SIG_DFL)  # ignored under nohup, and then in every child
        cuda = _preload(self._device)
        try:
            self._sandbox = probe(self._device, _serve, self._inside)
        except Unusable as error:
            sys.exit(str(error))  # the pool reads the last line of what was printed
        holding = {"layers": self._sandbox.layers, "missing": self._sandbox.missing}
        if self._inside is not None:
            self._inside.up()
        self._send({"ready": {"cuda": cuda, "sandbox": holding}})
        signal.signal(signal.SIGCHLD, lambda *_: None)
        signal.set_wakeup_fd(self._wake_write.fileno(), warn_on_full_buffer=False)
        self._selector.register(self._control, selectors.EVENT_READ)
        self._selector.register(self._wake_read, selectors.EVENT_READ)
        while True:
            for key, _ in self._selector.select():
                if key.fileobj is self._wake_read:
                    with contextlib.suppress(BlockingIOError):
                        self._wake_read.recv(4096)
                elif not self._receive():
                    self._kill_all()
                    # The interpreter's own shutdown would print about leaks in nanobind: there is nothing to save.
                    os._exit(0)
            self._reap()

    def _receive(self) -> bool:
        """Handle one message; False when the pool is gone."""
        try:
            raw, fds, _, _ = socket.recv_fds(self._control, _MAX_MESSAGE, 4)
        except ConnectionError:
            return False
        if not raw:
            return False
        message = json.loads(raw)
        if "start" in message:
            from autograder.worker.loader import preload_launch

            for launch in message["launches"]:
                preload_launch(launch)
            self._start(message["start"], socket.socket(fileno=fds[0]))
        elif "kill" in message:
            for pid, job in self._jobs.items():
                if job == message["kill"]:
                    process.kill_group(pid)
        return True

    def _start(self, job: int, connection: socket.socket) -> None:
        server_pid = os.getpid()
        confinement = self._confinement()
        try:
            pid = os.fork()
        except OSError:
            connection.close()
            self._send({"ended": job, "code": 1, "signal": 0})
            return
        if pid == 0:
            self._become_child(server_pid, connection, confinement)
        connection.close()
        self._jobs[pid] = job
        if confinement.uid is not None:
            self._uids[pid] = confinement.uid

    def _confinement(self) -> Confinement:
        """What the next child is confined by, with a user that no other child has now."""
        assert self._sandbox is not None
        confinement = self._sandbox.confinement
        if not confinement.uids:
            return confinement
        taken = set(self._uids.values())
        free = next((uid for uid in confinement.uids if uid not in taken), confinement.uids[-1])
        return replace(confinement, uid=free)

    def _become_child(self, server_pid: int, connection: socket.socket, confinement: Confinement) -> None:
        """In the child: drop all that belongs to the server, do the job, and never return."""
        code = 1
        try:
            signal.set_wakeup_fd(-1)
            signal.signal(signal.SIGCHLD, signal.SIG_DFL)
            process.leave_server(server_pid)
            # The selector too: its kernel object is shared, and who holds it can wake the server without end.
            for end in (self._selector, self._control, self._wake_read, self._wake_write):
                end.close()
            _serve(self._device, connection, confinement)
            code = 0
        except BaseException:  # noqa: BLE001 - nothing may unwind into the server's loop
            code = 1
        finally:
            os._exit(code)

    def _reap(self) -> None:
        while True:
            try:
                pid, status = os.waitpid(-1, os.WNOHANG)
            except ChildProcessError:
                return
            if pid == 0:
                return
            job = self._jobs.pop(pid, None)
            if job is None:
                continue  # a grandchild that was handed to us
            process.kill_group(pid)
            process.kill_strangers(set(self._jobs))
            self._uids.pop(pid, None)
            signal_number = os.WTERMSIG(status) if os.WIFSIGNALED(status) else 0
            code = os.WEXITSTATUS(status) if os.WIFEXITED(status) else 0
            self._send({"ended": job, "code": code, "signal": signal_number})

    def _kill_all(self) -> None:
        for pid in self._jobs:
            process.kill_group(pid)
        process.kill_strangers(set())

    def _send(self, message: dict[str, Any]) -> None:
        with contextlib.suppress(OSError):
            self._control.send(json.dumps(message).encode())


def _serve(device: str, connection: socket.socket, confinement: Confinement) -> None:
    """Do one job; the import was made by `_preload` already."""
    if device == "targets":
        from autograder.worker.target_child import serve_targets

        serve_targets(connection, confinement)
    else:
        from autograder.worker.child import serve_job

        serve_job(connection, confinement)


def _preload(device: str) -> str | None:
    """Import all that a child needs, once; then keep the collector from touching (and so copying) those pages.

    Returns the version of CUDA that torch was built for.
    """
    cuda = None
    if device == "targets":  # the triton wheel alone: without torch this takes a fraction of a second
        os.nice(_LESS_URGENT)
        from autograder.worker import target_child, warmup  # noqa: F401

        warmup.warm_up(device)
    else:
        import torch

        torch.set_num_threads(1)
        from autograder.worker import child, compiled, interpreter, warmup  # noqa: F401

        warmup.warm_up(device)
        cuda = torch.version.cuda
    gc.collect()
    gc.freeze()
    return cuda
