"""The wire between the trusted pool and the untrusted worker: framed JSON headers and raw tensor bytes.

A frame is ``MAGIC``, the header's length (uint32), the payload's length (uint64), the header as UTF-8 JSON, and
the payload: the bytes of all tensors one after another, in the order of the header's ``tensors`` list.  Nothing is
ever unpickled.  What comes back from a worker is treated as hostile: every length is bounded before it is read, and
every field is checked before it is used.

The first frame from a child that runs checks is its promise (`encode_promise`): the outputs' names, dtypes and shapes,
as the trusted launch files declare them.  It is sent before a line of a student's is executed, and what comes later
has to keep it, so that no hostile field chooses what the judge allocates and compares.

A child does one job after another, all of one hand-in.  It waits for a word (`encode_go`, or the next job) when a job
is done, and before the checks of it that are to be run only on demand.

A job may ask for a recording of what its kernels do (`autograder.recording`).  It comes behind the outputs, as bytes
that this file does not look into.

Standard library only: neither side pays for an import, and the judge can read this file in one sitting.
"""

from __future__ import annotations

import json
import math
import re
import struct
import unicodedata
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

MAGIC = b"MFA1"
_PREFIX = struct.Struct("<4sIQ")

MAX_HEADER_BYTES = 4 * 1024 * 1024
MAX_REPLY_HEADER_BYTES = 256 * 1024
MAX_MESSAGE_CHARS = 4000
MAX_MEASUREMENTS = 1000
MAX_LINE = 10_000_000

_MEASUREMENT = re.compile(r"[a-z][a-z0-9_]{0,40}(?:\.\w{1,64})?", re.ASCII)
_NAME = re.compile(r"\w{1,64}", re.ASCII)
# Control and format characters (escape codes, text that runs backwards), lone surrogates, line breaks to some.
_UNPRINTABLE = frozenset({"Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp"})

ITEM_SIZES: Mapping[str, int] = {
    "float64": 8,
    "float32": 4,
    "float16": 2,
    "bfloat16": 2,
    "int64": 8,
    "int32": 4,
    "int16": 2,
    "int8": 1,
    "uint8": 1,
    "bool": 1,
}

# What an output holds before the kernel runs.  Floats: a quiet NaN with a payload that arithmetic on ordinary numbers
# never makes, so that "never written" and "computed a NaN" can be told apart.  Integers: an unlikely pattern.
POISON: Mapping[str, bytes] = {
    "float64": struct.pack("<Q", 0x7FF8DEADBEEF5EED),
    "float32": struct.pack("<I", 0x7FC5DEAD),
    "float16": struct.pack("<H", 0x7E5D),
    "bfloat16": struct.pack("<H", 0x7FD5),
    "int64": struct.pack("<Q", 0x5A5A5A5A5A5A5A5A),
    "int32": struct.pack("<I", 0x5A5A5A5A),
    "int16": struct.pack("<H", 0x5A5A),
    "int8": b"\x5a",
    "uint8": b"\x5a",
    "bool": b"\x00",
}

# What lies on both sides of every tensor: as much a NaN, and another one, so that an output that holds what was loaded
# from behind an input is not taken for one that was never written.
FENCE: Mapping[str, bytes] = {
    "float64": struct.pack("<Q", 0x7FF8FE9CEFE9CE77),
    "float32": struct.pack("<I", 0x7FC6FE9C),
    "float16": struct.pack("<H", 0x7E6C),
    "bfloat16": struct.pack("<H", 0x7FD9),
    "int64": struct.pack("<Q", 0x3C3C3C3C3C3C3C3C),
    "int32": struct.pack("<I", 0x3C3C3C3C),
    "int16": struct.pack("<H", 0x3C3C),
    "int8": b"\x3c",
    "uint8": b"\x3c",
    "bool": b"\x00",
}

# How one check ended inside the worker.  "ran" only says that the kernel came to its end: whether it is right is the
# judge's to say.  "violation" is a memory access outside the buffers, or an input or a fence that was changed.
RAN = "ran"
WORKER_OUTCOMES = frozenset({RAN, "violation", "compile-error", "timeout", "crashed", "out-of-memory", "grader-error"})


class ProtocolError(Exception):
    """The other side broke the protocol: bad magic, a length over the limit, or a field of the wrong shape."""


class StreamEnded(ProtocolError):
    """The stream ended in the middle of a frame."""


@dataclass(frozen=True, slots=True)
class RawTensor:
    """A contiguous little-endian tensor as bytes; ``dtype`` is one of `ITEM_SIZES`."""

    dtype: str
    shape: tuple[int, ...]
    data: bytes | memoryview

    @property
    def numel(self) -> int:
        return math.prod(self.shape)


Outputs = Mapping[str, tuple[str, tuple[int, ...]]]
"""By name of an output: its dtype and its shape."""

Promise = Mapping[str, Mapping[str, Outputs]]
"""By launch file and check id: the outputs."""

Programme = Mapping[str, Mapping[str, Mapping[str, Any]]]
"""What a child may be asked to run: by launch file and check id, the cases."""


@dataclass(frozen=True, slots=True)
class CheckJob:
    """One launch: the case's parameters and its input tensors by name."""

    id: str
    case: Mapping[str, Any]
    inputs: Mapping[str, RawTensor]


@dataclass(frozen=True, slots=True)
class Limits:
    """What a child may use; ``cpu_seconds`` and ``wall_seconds`` are for the whole child."""

    cpu_seconds: float = 20.0
    wall_seconds: float = 60.0
    memory_bytes: int = 4 * 1024**3
    file_bytes: int = 64 * 1024**2
    output_bytes: int = 256 * 1024**2


@dataclass(frozen=True, slots=True)
class Job:
    """All that a child needs: vetted kernel source, the trusted launch file, and the checks to run in order.

    ``module`` is the lifted source with the student's line numbers.  ``substitutes`` maps the name of a function that
    the module calls and does not define to the source it is taken from (follow-through marks); its lines are never
    quoted.  ``functions`` are handed to the launch.

    The child runs the first ``unasked`` checks (None: all) and waits for a word before it goes on.  ``programme`` holds
    whatever the same child may have to run later on, beside this job's own checks.  ``recording`` is the size in bytes
    that a check's recording may have; with 0 nothing is recorded.  ``gpu_share`` is the part of the GPU's memory
    that the largest check takes, where it is much: the pool runs no more of those at once than fit.

    With ``bench``, the path of an exercise's bench.py, checks are not run but measured, against the ``baselines`` that
    are functions there: no outputs come back, only measurements (`autograder.worker.measuring`).
    """

    launch: str
    file_name: str
    module: str
    functions: tuple[str, ...]
    checks: tuple[CheckJob, ...]
    substitutes: Mapping[str, str] = field(default_factory=dict)
    device: str = "cpu"
    allow_atomics: bool = False
    limits: Limits = Limits()
    unasked: int | None = None
    programme: Programme = field(default_factory=dict)
    recording: int = 0
    gpu_share: float = 0.0
    bench: str = ""
    baselines: tuple[str, ...] = ()

    @property
    def whole_programme(self) -> Programme:
        """All that the job's child may have to run: the job's own checks, and those of ``programme``."""
        own = {check.id: check.case for check in self.checks}
        return {**self.programme, self.launch: {**self.programme.get(self.launch, {}), **own}}


@dataclass(frozen=True, slots=True)
class CheckReply:
    """What came back for one check: ``line`` is of the student's file, ``seconds`` the launch's wall time.

    ``leaving`` says that the child does no more: the checks that are left go on in a fresh one.  ``recording`` is for
    `autograder.recording` to read.
    """

    id: str
    outcome: str
    message: str = ""
    line: int | None = None
    seconds: float = 0.0
    outputs: Mapping[str, RawTensor] = field(default_factory=dict)
    measurements: Mapping[str, float] = field(default_factory=dict)
    leaving: bool = False
    recording: bytes | memoryview = b""


def encode_job(job: Job, folder: str) -> bytes:
    """One frame that holds ``job``; ``folder`` is the child's private working folder."""
    tensors: list[dict[str, Any]] = []
    chunks: list[bytes | memoryview] = []
    for check in job.checks:
        for name, tensor in check.inputs.items():
            tensors.append({"check": check.id, "name": name, "dtype": tensor.dtype, "shape": list(tensor.shape)})
            chunks.append(tensor.data)
    header = {
        "kind": "job",
        "folder": folder,
        "launch": job.launch,
        "file_name": job.file_name,
        "module": job.module,
        "functions": list(job.functions),
        "substitutes": dict(job.substitutes),
        "device": job.device,
        "allow_atomics": job.allow_atomics,
        "limits": {
            "cpu_seconds": job.limits.cpu_seconds,
            "wall_seconds": job.limits.wall_seconds,
            "memory_bytes": job.limits.memory_bytes,
            "file_bytes": job.limits.file_bytes,
            "output_bytes": job.limits.output_bytes,
        },
        "unasked": job.unasked,
        "recording": job.recording,
        "bench": job.bench,
        "baselines": list(job.baselines),
        "programme": {
            launch: {id: dict(case) for id, case in cases.items()} for launch, cases in job.programme.items()
        },
        "checks": [{"id": check.id, "case": dict(check.case)} for check in job.checks],
        "tensors": tensors,
    }
    return frame(header, chunks)


def decode_job(header: Mapping[str, Any], payload: memoryview) -> tuple[Job, str]:
    """The job of a frame made by `encode_job`, and its folder.  The sender is trusted."""
    inputs: dict[str, dict[str, RawTensor]] = {check["id"]: {} for check in header["checks"]}
    for entry, tensor in zip(header["tensors"], cut(header["tensors"], payload), strict=True):
        inputs[entry["check"]][entry["name"]] = tensor
    checks = tuple(CheckJob(check["id"], check["case"], inputs[check["id"]]) for check in header["checks"])
    job = Job(
        launch=header["launch"],
        file_name=header["file_name"],
        module=header["module"],
        functions=tuple(header["functions"]),
        checks=checks,
        substitutes=header["substitutes"],
        device=header["device"],
        allow_atomics=header["allow_atomics"],
        limits=Limits(**header["limits"]),
        unasked=header["unasked"],
        recording=header["recording"],
        bench=header["bench"],
        baselines=tuple(header["baselines"]),
        programme=header["programme"],
    )
    return job, header["folder"]


def encode_go() -> bytes:
    """One frame that has a child go on with the job at which it waits."""
    return frame({"kind": "go"}, [])


def encode_promise(promise: Promise) -> bytes:
    """One frame that says which outputs each check will bring."""
    outputs = {
        launch: {
            check: {name: [dtype, list(shape)] for name, (dtype, shape) in named.items()}
            for check, named in checks.items()
        }
        for launch, checks in promise.items()
    }
    return frame({"kind": "promise", "outputs": outputs}, [])


def decode_promise(header: Mapping[str, Any], payload: memoryview) -> Promise:
    """The promise of a child's first frame.

    Raises:
        ProtocolError: it is none.
    """
    try:
        if header["kind"] != "promise" or len(payload):
            raise ProtocolError("a promise expected")
        return {
            launch: {
                check: {name: (_dtype(dtype), _shape(shape)) for name, (dtype, shape) in named.items()}
                for check, named in checks.items()
            }
            for launch, checks in header["outputs"].items()
        }
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise ProtocolError(f"malformed promise: {type(error).__name__}") from error


def promised_bytes(outputs: Outputs) -> int:
    """The payload of a reply that brings these outputs."""
    return sum(math.prod(shape) * ITEM_SIZES[dtype] for dtype, shape in outputs.values())


def keeps_promise(reply: CheckReply, outputs: Outputs) -> bool:
    """Whether a reply brings these outputs, each of its dtype and shape, and nothing else."""
    if reply.outcome != RAN:
        return not reply.outputs
    return {name: (raw.dtype, raw.shape) for name, raw in reply.outputs.items()} == outputs


def encode_reply(reply: CheckReply) -> bytes:
    """One frame that holds ``reply``."""
    header = {
        "kind": "check",
        "id": reply.id,
        "outcome": reply.outcome,
        "message": reply.message[:MAX_MESSAGE_CHARS],
        "line": reply.line,
        "seconds": reply.seconds,
        "leaving": reply.leaving,
        "measurements": dict(reply.measurements),
        "recording": len(reply.recording),
        "tensors": [
            {"name": name, "dtype": tensor.dtype, "shape": list(tensor.shape)} for name, tensor in reply.outputs.items()
        ],
    }
    return frame(header, [*(tensor.data for tensor in reply.outputs.values()), reply.recording])


def decode_reply(header: Mapping[str, Any], payload: memoryview) -> CheckReply:
    """The reply of a frame from a worker.

    Raises:
        ProtocolError: a field is missing, of the wrong type, or disagrees with the payload.
    """
    try:
        if header["kind"] != "check" or header["outcome"] not in WORKER_OUTCOMES:
            raise ProtocolError("unknown kind or outcome")
        entries = header["tensors"]
        names = [_matching(_NAME, entry["name"]) for entry in entries]
        if len(set(names)) != len(names):
            raise ProtocolError("two tensors of one name")
        measurements = {_matching(_MEASUREMENT, key): _number(value) for key, value in header["measurements"].items()}
        if len(measurements) > MAX_MEASUREMENTS:
            raise ProtocolError("too many measurements")
        recorded = _whole(header.get("recording", 0), 0, len(payload))
        outputs = payload[: len(payload) - recorded]
        return CheckReply(
            id=_text(header["id"]),
            outcome=header["outcome"],
            message=printable(_text(header["message"])[:MAX_MESSAGE_CHARS]),
            line=None if header["line"] is None else _whole(header["line"], 1, MAX_LINE),
            seconds=_number(header["seconds"]),
            outputs=dict(zip(names, cut(entries, outputs), strict=True)),
            measurements=measurements,
            leaving=header.get("leaving") is True,
            recording=payload[len(outputs) :],
        )
    except (KeyError, TypeError, ValueError, AttributeError, OverflowError) as error:
        raise ProtocolError(f"malformed reply: {type(error).__name__}") from error


def printable(text: str) -> str:
    """``text`` with nothing in it that moves a cursor, colours a terminal, or cannot be written as UTF-8.

    Line ends are kept: they part a message from what the compiler said.
    """
    if text.isascii() and text.replace("\n", "").isprintable():
        return text
    return "".join(_printable_character(character) for character in text)


def _printable_character(character: str) -> str:
    if character == "\t":
        return " "
    harmless = character == "\n" or unicodedata.category(character) not in _UNPRINTABLE
    return character if harmless else "\ufffd"


def read_frame(
    read: Callable[[int], bytes], max_payload: int, max_header: int = MAX_HEADER_BYTES
) -> tuple[Mapping[str, Any], memoryview] | None:
    """The next frame's header and payload, or None at a clean end of the stream.

    ``read(n)`` returns at most ``n`` bytes and ``b""`` at the end.

    Raises:
        ProtocolError: bad magic, a length over its limit, a header that is no JSON object, or a cut stream.
    """
    prefix = _read_exactly(read, _PREFIX.size, may_end=True)
    if prefix is None:
        return None
    magic, header_bytes, payload_bytes = _PREFIX.unpack(prefix)
    if magic != MAGIC:
        raise ProtocolError("bad magic")
    if header_bytes > max_header or payload_bytes > max_payload:
        raise ProtocolError("frame over the size limit")
    raw = _read_exactly(read, header_bytes)
    payload = _read_exactly(read, payload_bytes)
    assert raw is not None
    assert payload is not None
    try:
        header = json.loads(bytes(raw))
    except (ValueError, RecursionError) as error:
        raise ProtocolError("header is not JSON") from error
    if not isinstance(header, dict):
        raise ProtocolError("header is not an object")
    return header, payload


def frame(header: Mapping[str, Any], chunks: Sequence[bytes | memoryview]) -> bytes:
    """A header and the tensors that its ``tensors`` list describes."""
    raw = json.dumps(header).encode()
    size = sum(len(chunk) for chunk in chunks)
    return b"".join([_PREFIX.pack(MAGIC, len(raw), size), raw, *chunks])


def cut(entries: Any, payload: memoryview) -> list[RawTensor]:
    """Cut the payload into the tensors that ``entries`` describes; every byte must be accounted for.

    Raises:
        ProtocolError: they do not fit.
    """
    tensors: list[RawTensor] = []
    start = 0
    for entry in entries:
        dtype, shape = _dtype(entry["dtype"]), _shape(entry["shape"])
        size = math.prod(shape) * ITEM_SIZES[dtype]
        if start + size > len(payload):
            raise ProtocolError("tensor longer than its payload")
        tensors.append(RawTensor(dtype, shape, payload[start : start + size]))
        start += size
    if start != len(payload):
        raise ProtocolError("payload longer than its tensors")
    return tensors


def _read_exactly(read: Callable[[int], bytes], size: int, may_end: bool = False) -> memoryview | None:
    buffer = bytearray()
    while len(buffer) < size:
        part = read(min(size - len(buffer), 1 << 20))
        if not part:
            if may_end and not buffer:
                return None
            raise StreamEnded("stream ended in the middle of a frame")
        buffer += part
    return memoryview(buffer)


def _text(value: Any) -> str:
    if not isinstance(value, str):
        raise ProtocolError("text expected")
    return value


def _matching(pattern: re.Pattern[str], value: Any) -> str:
    text = _text(value)
    if not pattern.fullmatch(text):
        raise ProtocolError("a name expected")
    return text


def _number(value: Any) -> float:
    """A size, a count or a time.  A NaN is over no limit, and so would pass all of them."""
    if type(value) not in (int, float) or not 0 <= value < math.inf:
        raise ProtocolError("a finite number from 0 up expected")
    return float(value)


def _whole(value: Any, least: int, most: int) -> int:
    if type(value) is not int or not least <= value <= most:
        raise ProtocolError("a whole number expected")
    return value


def _dtype(value: Any) -> str:
    if value not in ITEM_SIZES:
        raise ProtocolError("unknown dtype")
    return _text(value)


def _shape(value: Any) -> tuple[int, ...]:
    if type(value) is not list or len(value) > 8:
        raise ProtocolError("a shape expected")
    return tuple(_whole(size, 0, 2**48) for size in value)
