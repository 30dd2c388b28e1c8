"""Bubblewrap: the whole server in a file system, a process list and a network of its own, where the machine allows it.

The server is put inside, and its children are forked there: a forked child cannot be put into bubblewrap, which starts
programs anew.  What started as the server stays outside as a supervisor.  Should the server not come up inside, the
supervisor becomes the server itself, without this layer.  See https://github.com/containers/bubblewrap.

Inside are Python, the packages and the system's libraries, read-only, the course's launch files, and the pool's folder.
Solutions, hand-ins and results are not there at all, nor is any process but the server's own.
"""

from __future__ import annotations

import contextlib
import errno
import importlib.util
import json
import os
import select
import shutil
import socket
import subprocess
import sys
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from autograder.worker.sandbox import _places

_PROGRAM = "bwrap"
# What a root's server needs to give each child a user of its own, and to end it.
_CAPABILITIES = ("CAP_SETUID", "CAP_SETGID", "CAP_CHOWN", "CAP_KILL", "CAP_DAC_OVERRIDE", "CAP_FOWNER")
_IMPORTED_LATER = ("torch", "triton", "numpy")
_WITHOUT_BINDS = ("/proc",)
_MOST_INSIDE = 3  # processes: bubblewrap's own, and the server
_BEGIN_SECONDS = 30.0  # for bubblewrap to start a Python inside, which takes less than one


class NotInsideError(Exception):
    """This process is not where it should be; says what was possible."""


@dataclass(frozen=True, slots=True)
class Inside:
    """What a server inside has to know: its ``number`` among all servers, and the pipe on which it says that it is up.

    ``outside`` is a file that is there outside.
    """

    number: int
    ready: int
    outside: str

    def begun(self) -> None:
        """Tell the supervisor that Python runs inside: what is called bubblewrap has not hung."""
        with contextlib.suppress(OSError):
            os.write(self.ready, b"0")

    def up(self) -> None:
        """Tell the supervisor that the server has come up."""
        with contextlib.suppress(OSError):
            os.write(self.ready, b"1")
            os.close(self.ready)


def supervise(control: int, device: str, folders: Iterable[str]) -> int | None:
    """Run the server inside until it ends, and return its exit code; None at once if it cannot come up there.

    ``control`` is the descriptor that it serves, ``folders`` hold the launch files.
    """
    program = shutil.which(_PROGRAM)
    if program is None:
        return None
    options = command(program, device, folders)
    read_end, write_end = os.pipe()
    outside = Path(f"{os.getcwd()}.outside")
    outside.touch(0o600)
    inside = json.dumps({"number": os.getpid(), "ready": write_end, "outside": str(outside)})
    try:
        server = subprocess.Popen(
            [*options, *sys.orig_argv[:-1], json.dumps({"inside": inside})], pass_fds=[control, write_end]
        )
        os.close(write_end)
        with open(read_end, "rb", buffering=0) as stream:
            begun = select.select([stream], [], [], _BEGIN_SECONDS)[0] and stream.read(1)
            if not (begun and stream.read(1)):
                server.kill()
                server.wait()
                return None
        return server.wait()
    except OSError:
        return None
    finally:
        outside.unlink(missing_ok=True)


def command(program: str, device: str, folders: Iterable[str]) -> list[str]:
    """The beginning of the command line, up to what is run inside."""
    cuda = device == "cuda"
    here = os.getcwd()
    options = [program, "--die-with-parent", "--unshare-pid", "--unshare-ipc", "--unshare-uts"]
    if not cuda:
        options.append("--unshare-net")
    if os.geteuid() == 0:  # without a user namespace: in one there would be no other users to become
        options += ["--cap-drop", "ALL"]
        options += [word for name in _CAPABILITIES for word in ("--cap-add", name)]
    options += ["--dev-bind", "/dev", "/dev"] if cuda else ["--dev", "/dev"]
    options += ["--proc", "/proc"]
    paths = _topmost({*_readable(device), *folders})
    # Folders on the way are bubblewrap's own, and closed to children that are other users unless told otherwise.
    for folder in sorted({str(parent) for path in (*paths, here) for parent in Path(path).parents} - {"/"}):
        options += ["--perms", "0755", "--dir", folder]
    for path in paths:
        options += ["--ro-bind-try", path, path]
    return [*options, "--bind", here, here, "--remount-ro", "/", "--chdir", here, "--"]


def _topmost(paths: Iterable[str]) -> list[str]:
    """The paths without those that lie in another of them."""
    kept: list[str] = []
    for path in sorted(paths, key=lambda path: Path(path).parts):
        if not kept or not Path(path).is_relative_to(kept[-1]):
            kept.append(path)
    return kept


def _readable(device: str) -> Iterator[str]:
    """What children may read, and what the server needs to start: its environment, packages that come later."""
    yield os.path.join(sys.prefix, "pyvenv.cfg")
    yield from (path for path in _places.readable(device) if path not in _WITHOUT_BINDS)
    yield "/etc/alternatives"  # through which /usr/bin/python may lead
    yield from (folder for folder in os.environ.get("LD_LIBRARY_PATH", "").split(os.pathsep) if os.path.isabs(folder))
    for name in _IMPORTED_LATER:
        found = importlib.util.find_spec(name)
        yield from (found.submodule_search_locations or ()) if found is not None else ()


def check(inside: Inside, device: str) -> None:
    """Try what must not be possible inside.

    Raises:
        NotInsideError: it was.
    """
    if os.path.exists(inside.outside):
        raise NotInsideError("a file outside could be seen")
    if sum(name.isdigit() for name in os.listdir("/proc")) > _MOST_INSIDE:
        raise NotInsideError("other processes could be seen")
    if device != "cuda" and {name for _, name in socket.if_nameindex()} - {"lo"}:
        raise NotInsideError("the network could be seen")
    trial = Path(os.__file__).parent / f"autograder-trial-{inside.number}"
    try:
        trial.touch()
    except OSError as error:
        if error.errno in (errno.EROFS, errno.EACCES, errno.EPERM):
            return
        raise NotInsideError(f"a file outside could not be tried ({error.strerror})") from None
    trial.unlink()
    raise NotInsideError("a file outside could be written")
