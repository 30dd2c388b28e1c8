"""Which GPUs this machine has, asked in a throw-away process: a CUDA context in a process that forks poisons it."""

from __future__ import annotations

import functools
import json
import os
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass

# The driver's own library answers in milliseconds, without importing torch. Run with -I: a ctypes.py in the current
# folder, which may be a hand-in, must not be imported.
_PROBE = """
import ctypes, json, uuid
cuda = ctypes.CDLL("libcuda.so.1")
count, name = ctypes.c_int(), ctypes.create_string_buffer(200)
assert cuda.cuInit(0) == 0 and cuda.cuDeviceGetCount(ctypes.byref(count)) == 0 and count.value > 0
found = []
for number in range(count.value):
    major, minor, memory = ctypes.c_int(), ctypes.c_int(), ctypes.c_size_t()
    own = ctypes.create_string_buffer(16)
    cuda.cuDeviceGetName(name, 200, number)
    cuda.cuDeviceGetAttribute(ctypes.byref(major), 75, number)
    cuda.cuDeviceGetAttribute(ctypes.byref(minor), 76, number)
    cuda.cuDeviceTotalMem_v2(ctypes.byref(memory), number)
    known = cuda.cuDeviceGetUuid(own, number) == 0
    found.append({
        "name": name.value.decode(),
        "major": major.value,
        "minor": minor.value,
        "memory": memory.value,
        "uuid": str(uuid.UUID(bytes=own.raw)) if known else "",
    })
print(json.dumps(found))
"""


@dataclass(frozen=True, slots=True)
class Gpu:
    """A CUDA device: its name, compute capability, such as (7, 5) for a T4, and memory in bytes.

    ``visible`` is what CUDA_VISIBLE_DEVICES calls it.
    """

    name: str
    capability: tuple[int, int]
    memory: int = 0
    visible: str = "0"


def find_gpu() -> Gpu | None:
    """The first CUDA device, or None; asked once a process."""
    return next(iter(find_gpus()), None)


@functools.cache
def find_gpus() -> tuple[Gpu, ...]:
    """All CUDA devices that this process may use, in CUDA's order; asked once a process."""
    try:
        answer = subprocess.run(
            [sys.executable, "-I", "-c", _PROBE], capture_output=True, text=True, timeout=60, check=True
        ).stdout
        found = json.loads(answer)
        names = _visible_names([entry["uuid"] for entry in found])
        return tuple(
            Gpu(entry["name"], (entry["major"], entry["minor"]), entry["memory"], name)
            for entry, name in zip(found, names, strict=True)
        )
    except (OSError, subprocess.SubprocessError, ValueError, KeyError):
        return ()


def _visible_names(uuids: Sequence[str]) -> list[str]:
    """What CUDA_VISIBLE_DEVICES would have to be for each device alone: as we were told, else by its UUID.

    Parts of a GPU (MIG) have their GPU's UUID, and are told apart only by the names that we were given.
    """
    given = [name.strip() for name in os.environ.get("CUDA_VISIBLE_DEVICES", "").split(",") if name.strip()]
    if len(given) >= len(uuids):
        return given[: len(uuids)]
    if all(uuids) and len(set(uuids)) == len(uuids):
        return [f"GPU-{uuid}" for uuid in uuids]
    return [str(number) for number in range(len(uuids))]
