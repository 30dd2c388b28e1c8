"""Which GPU this machine has, asked in a throw-away process: a CUDA context in a process that forks poisons it."""

from __future__ import annotations

import functools
import json
import subprocess
import sys
from dataclasses import dataclass

# The driver's own library answers in milliseconds, without importing torch. Run with -I: a ctypes.py in the current
# folder, which may be a hand-in, must not be imported.
_PROBE = """
import ctypes, json
cuda = ctypes.CDLL("libcuda.so.1")
count, name = ctypes.c_int(), ctypes.create_string_buffer(200)
major, minor, memory = ctypes.c_int(), ctypes.c_int(), ctypes.c_size_t()
assert cuda.cuInit(0) == 0 and cuda.cuDeviceGetCount(ctypes.byref(count)) == 0 and count.value > 0
cuda.cuDeviceGetName(name, 200, 0)
cuda.cuDeviceGetAttribute(ctypes.byref(major), 75, 0)
cuda.cuDeviceGetAttribute(ctypes.byref(minor), 76, 0)
cuda.cuDeviceTotalMem_v2(ctypes.byref(memory), 0)
print(json.dumps({"name": name.value.decode(), "major": major.value, "minor": minor.value, "memory": memory.value}))
"""


@dataclass(frozen=True, slots=True)
class Gpu:
    """The first CUDA device: its name, compute capability, such as (7, 5) for a T4, and memory in bytes."""

    name: str
    capability: tuple[int, int]
    memory: int = 0


@functools.cache
def find_gpu() -> Gpu | None:
    """The first CUDA device, or None; asked once a process."""
    try:
        answer = subprocess.run(
            [sys.executable, "-I", "-c", _PROBE], capture_output=True, text=True, timeout=60, check=True
        ).stdout
        found = json.loads(answer)
        return Gpu(found["name"], (found["major"], found["minor"]), found["memory"])
    except (OSError, subprocess.SubprocessError, ValueError, KeyError):
        return None
