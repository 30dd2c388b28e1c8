"""A real, tiny job under the layers: what runs here runs for a hand-in."""

from __future__ import annotations

import contextlib
import os
import shutil
import socket
import tempfile
from collections.abc import Callable
from pathlib import Path

from autograder.protocol import (
    RAN,
    CheckJob,
    Job,
    Limits,
    ProtocolError,
    RawTensor,
    decode_reply,
    encode_job,
    read_frame,
)
from autograder.worker import process
from autograder.worker.sandbox._confinement import CACHE, Confinement

Serve = Callable[[str, socket.socket, Confinement], None]

_SECONDS = 30.0
_SIZE = 16
_LAUNCH = f"""
import triton
import triton.language as tl


@triton.jit
def harness(x_ptr, y_ptr, size, BLOCK: tl.constexpr, piece: tl.constexpr):
    offs = tl.arange(0, BLOCK)
    x = tl.load(x_ptr + offs, mask=offs < size)
    tl.store(y_ptr + offs, piece(x), mask=offs < size)


def outputs(case):
    return {{"y": (({_SIZE},), "float32")}}


def launch(run, student, case, inputs, outputs):
    run(harness, (1,), inputs["x"], outputs["y"], {_SIZE}, BLOCK={_SIZE}, piece=student.twice)
"""
_MODULE = "\n\n@triton.jit\ndef twice(x):\n    return tl.where(x > 0.0, x + x, tl.exp(x))\n"


def runs(confinement: Confinement, serve: Serve, base: Path) -> str | None:
    """None if the job fails under ``confinement``, else the path of a cache for its successors ("": none is needed).

    The cache is made of the native helpers that Triton has compiled on the way (CUDA only).
    """
    place = Path(tempfile.mkdtemp(dir=base))
    launch, folder = place / "launch.py", place / "own"
    launch.write_text(_LAUNCH)
    launch.chmod(0o600)  # as a course may be on a drive that root alone can read
    place.chmod(0o711)
    folder.mkdir(mode=0o700)
    server = os.getpid()
    ours, theirs = socket.socketpair()
    pid = os.fork()
    if pid == 0:
        try:
            ours.close()
            process.leave_server(server)
            serve(confinement.device, theirs, confinement)
        finally:
            os._exit(0)
    theirs.close()
    with ours:
        ran = _converse(ours, _job(str(launch), confinement.device), str(folder))
    process.kill_group(pid)
    os.waitpid(pid, 0)
    return _keep(folder / CACHE, confinement.device) if ran else None


def _job(launch: str, device: str) -> Job:
    if device == "targets":
        case = {
            "cases": [{"case": {}, "inputs": {"x": ["float32", [_SIZE]]}}],
            "every_variant": False,
            "depth": "llir",
        }
        check = CheckJob("sm_75", case, {})
    else:
        check = CheckJob("rehearsal", {}, {"x": RawTensor("float32", (_SIZE,), bytes(4 * _SIZE))})
    # The CPU seconds of CUDA's driver and Triton's compiler are many threads'.
    limits = Limits(cpu_seconds=600.0 if device == "cuda" else 20.0)
    return Job(launch, "rehearsal.py", _MODULE, ("twice",), (check,), device=device, limits=limits)


def _converse(connection: socket.socket, job: Job, folder: str) -> bool:
    """Whether the job's one check came to its end."""
    connection.settimeout(_SECONDS)
    with contextlib.suppress(OSError, ProtocolError), connection.makefile("rb") as stream:
        connection.sendall(encode_job(job, folder))
        while (frame := read_frame(stream.read, 1 << 20)) is not None:
            if frame[0].get("kind") == "check":
                return decode_reply(*frame).outcome == RAN
    return False


def _keep(cache: Path, device: str) -> str:
    """Keep the native helpers beside the children's folders; kernels are left for each child to compile."""
    if device != "cuda" or not cache.is_dir():
        return ""
    kept = Path(tempfile.mkdtemp(prefix="helpers-", dir=os.getcwd()))
    for entry in cache.iterdir():
        if any(entry.glob("*.so")):
            shutil.copytree(entry, kept / entry.name)
    return str(kept)
