"""A throw-away child puts the layers on one by one and tries, after each, what it must now be unable to do."""

from __future__ import annotations

import contextlib
import errno
import json
import mmap
import os
import resource
import select
import signal
import socket
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

from autograder.protocol import Limits
from autograder.worker import process
from autograder.worker.sandbox import _kernel, _landlock, _places, _uid
from autograder.worker.sandbox._confinement import Confinement
from autograder.worker.sandbox._layers import (
    CAPABILITIES,
    LANDLOCK,
    OUTPUT,
    PROCESS_GROUP,
    RLIMITS,
    SECCOMP,
    SPARE_UID,
)

_SECONDS = 20.0
_LIMITS = Limits(file_bytes=1 << 16, memory_bytes=1 << 30)
_NOWHERE = ("127.0.0.1", 9)
_SIGNALS_SINCE, _TCP_SINCE = 6, 4  # of landlock's versions


class _Leak(Exception):
    """Something that a layer has to refuse was possible; says what."""


def failures(confinement: Confinement, base: Path) -> dict[str, str]:
    """Why a layer does not hold, by its name; ``base`` is a folder that all users may read."""
    hidden = base / "hidden"
    hidden.write_text("for nobody's eyes\n")
    hidden.chmod(0o644)
    folder = Path(tempfile.mkdtemp(dir=base))
    read_end, write_end = os.pipe()
    server = os.getpid()
    pid = os.fork()
    if pid == 0:
        try:
            os.close(read_end)
            process.leave_server(server)
            for layer, reason in _try_all(confinement, folder, hidden, server):
                os.write(write_end, json.dumps([layer, reason]).encode() + b"\n")
        finally:
            os._exit(0)
    os.close(write_end)
    with open(read_end, "rb", buffering=0) as stream:
        rows = _rows(stream.fileno())
    process.kill_group(pid)
    os.waitpid(pid, 0)
    found = dict(json.loads(row) for row in rows)
    every = {*confinement.layers, PROCESS_GROUP, RLIMITS, OUTPUT}
    if SPARE_UID in every:
        every.discard(CAPABILITIES)  # not tried: it would come in the place of the other
    return {layer: found.get(layer, "its trial did not end") for layer in every if found.get(layer, "x")}


def _rows(handle: int) -> list[bytes]:
    """Whole lines until the writer is gone or time is up."""
    data = b""
    while select.select([handle], [], [], _SECONDS)[0] and (part := os.read(handle, 1 << 16)):
        data += part
    return data.splitlines()


def _try_all(confinement: Confinement, folder: Path, hidden: Path, server: int) -> Iterator[tuple[str, str]]:
    """Each layer with what is wrong with it, "" if nothing is."""
    cuda = confinement.device == "cuda"
    needed = _places.module_files()
    for layer, check in _basic(folder, cuda).items():
        yield layer, _reason(layer, check)
    checks: dict[str, Callable[[], None]] = {
        LANDLOCK: lambda: _check_landlock(folder, hidden, server, needed),
        SPARE_UID: lambda: _check_user(confinement.uid, server, needed),
        CAPABILITIES: lambda: _check_capabilities(needed),
        SECCOMP: lambda: _check_seccomp(server, programs=cuda),
    }
    for layer, put_on in confinement.steps(folder, str(hidden.parent / "launch.py"), cuda):
        yield layer, _reason(layer, put_on) or _reason(layer, checks[layer])


def _reason(layer: str, step: Callable[[], None]) -> str:
    try:
        step()
    except _Leak as leak:
        return str(leak)
    except OSError as error:
        if layer == LANDLOCK and error.errno == errno.ENOSYS:
            return "this kernel has none (Linux has it since 5.13)"
        if error.errno == errno.ENOSYS:
            return "this kernel has none"
        if layer == LANDLOCK and error.errno == errno.EOPNOTSUPP:
            return "it is switched off in this kernel"
        return f"this machine does not allow it ({error.strerror or error})"
    return ""


def _basic(folder: Path, cuda: bool) -> dict[str, Callable[[], None]]:
    def group() -> None:
        if os.getpgid(0) != os.getpid():
            raise _Leak("a child has no process group of its own")

    def output() -> None:
        process.silence(folder)
        os.write(1, b"a line\n")
        if (folder / "log").read_bytes() != b"a line\n":
            raise _Leak("what a child prints does not go to its file")

    def limits() -> None:
        process.apply_limits(_LIMITS, "cuda" if cuda else "cpu", 1)
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        with contextlib.suppress(OSError):
            (folder / "big").write_bytes(bytes(2 * _LIMITS.file_bytes))
        if (folder / "big").stat().st_size > _LIMITS.file_bytes:
            raise _Leak("a file could grow over its limit")
        if not cuda and _possible(lambda: mmap.mmap(-1, _LIMITS.memory_bytes + (1 << 20)).close()):
            raise _Leak("a child could have more memory than its limit")

    return {PROCESS_GROUP: group, OUTPUT: output, RLIMITS: limits}


def _check_landlock(folder: Path, hidden: Path, server: int, needed: tuple[str, ...]) -> None:
    version = _landlock.abi()
    (folder / "own").write_text("mine")
    _readable_still(needed, "hidden by it")
    _refuse("a hidden file could be read under it", hidden.read_bytes)
    _refuse("a hidden folder could be listed under it", lambda: os.listdir(hidden.parent))
    _refuse("a file outside could be written under it", lambda: hidden.write_bytes(b""))
    _refuse("a file outside could be made under it", lambda: (hidden.parent / "new").write_bytes(b""))
    if version >= _TCP_SINCE:
        _refuse("a TCP connection could be tried under it", _connect)
    if version >= _SIGNALS_SINCE:
        _refuse("the server could be signalled under it", lambda: os.kill(server, 0))


def _check_user(uid: int | None, server: int, needed: tuple[str, ...]) -> None:
    if os.getresuid() != (uid,) * 3 or os.getresgid() != (uid,) * 3 or os.getgroups():
        raise _Leak("the change of user had no effect")
    _refuse("root could be had back", lambda: os.setresuid(0, 0, 0))
    _refuse("the server could be signalled", lambda: os.kill(server, 0))
    hard = resource.getrlimit(resource.RLIMIT_NPROC)[1] + 1
    _refuse("the limit on processes could be raised", lambda: resource.setrlimit(resource.RLIMIT_NPROC, (1, hard)))
    _check_capabilities(needed)


def _check_capabilities(needed: tuple[str, ...]) -> None:
    if _uid.capabilities():
        raise _Leak("capabilities were left")
    _readable_still(needed, "closed to other users")


def _check_seccomp(server: int, programs: bool) -> None:
    _refuse("a UDP socket could be opened under it", lambda: socket.socket(socket.AF_INET, socket.SOCK_DGRAM).close())
    _refuse("the server could be signalled under it", lambda: os.kill(server, 0))
    _refuse("ptrace worked under it", lambda: _kernel.system_call("ptrace", 0, 0, 0, 0))
    _refuse("a namespace could be made under it", lambda: _kernel.system_call("unshare", 0))
    if not programs:
        _refuse("a process could be started under it", _fork)
        # Where the call is allowed, there is no such file.
        _refuse("a program could be started under it", lambda: os.execv("/nonexistent/program", ["program"]))


def _refuse(leak: str, attempt: Callable[[], object]) -> None:
    if _possible(attempt):
        raise _Leak(leak)


def _possible(attempt: Callable[[], object]) -> bool:
    """Whether the kernel lets it happen; an error that says anything else than "not allowed" counts as let."""
    try:
        attempt()
    except OSError as error:
        return error.errno not in (errno.EPERM, errno.EACCES, errno.ENOMEM)
    except ValueError:  # what Python makes of EPERM when a limit is raised
        return False
    return True


def _readable_still(needed: tuple[str, ...], otherwise: str) -> None:
    """What Python and Triton may load later on has to stay within reach."""
    for path in needed:
        try:
            os.close(os.open(path, os.O_RDONLY | os.O_CLOEXEC))
        except OSError:
            raise _Leak(f"Python's own files under {_closed(path)} are {otherwise}") from None


def _closed(path: str) -> str:
    """The topmost folder on the way to ``path`` that cannot be entered."""
    for parent in reversed(Path(path).parents):
        if not os.access(parent, os.X_OK):
            return str(parent)
    return os.path.dirname(path)


def _connect() -> None:
    with socket.socket(socket.AF_INET, socket.SOCK_STREAM) as stream:
        stream.settimeout(1.0)
        stream.connect(_NOWHERE)


def _fork() -> None:
    pid = os.fork()
    if pid == 0:
        os._exit(0)
    os.waitpid(pid, 0)
