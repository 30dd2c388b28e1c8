"""CPU: Triton's interpreter with every address checked before memory is touched, and loads counted.

All of the interpreter's memory accesses end in four functions of one native module (load, store, atomic_rmw,
atomic_cas), which `MemoryGuard` stands in front of; `tests/worker/test_interpreter.py` enumerates them, so that a
Triton release that adds another is noticed.
"""

from __future__ import annotations

import contextlib
import sys
from bisect import bisect_right
from collections import defaultdict
from collections.abc import Iterator
from typing import Any

import numpy as np
import torch
import triton.language as tl
from triton.runtime import interpreter as triton_interpreter

from autograder.worker.authors import Authors
from autograder.worker.buffers import APART, Buffer, poison, shape_text
from autograder.worker.faults import Violation

NATIVE_MEMORY = frozenset({"load", "store", "atomic_rmw", "atomic_cas"})
# Arithmetic on values, no addresses (since Triton 3.9).
NATIVE_MATH = frozenset({"fma_fp32", "fma_fp64"})


class MemoryGuard:
    """Stands in for the interpreter's native module; refuses every access outside ``buffers``."""

    def __init__(self, native: Any, buffers: list[Buffer], allow_atomics: bool) -> None:
        self._native = native
        self._buffers = sorted(buffers, key=lambda buffer: buffer.memory.data_ptr())
        self._starts = np.array([buffer.memory.data_ptr() for buffer in self._buffers], dtype=np.uint64)
        sizes = [buffer.memory.numel() * buffer.memory.element_size() for buffer in self._buffers]
        self._ends = self._starts + np.array(sizes, dtype=np.uint64)
        self._bounds = [(int(start), int(end)) for start, end in zip(self._starts, self._ends, strict=True)]
        self._allow_atomics = allow_atomics
        self.authors = Authors()
        self.total: dict[str, int] = defaultdict(int)
        self.largest: dict[str, int] = defaultdict(int)

    def load(self, ptrs: Any, mask: Any, other: Any, dtype: Any) -> Any:
        addresses, active = active_lanes(ptrs, mask)
        for number, lanes in self._check(addresses, np.dtype(dtype).itemsize, "loads"):
            buffer = self._buffers[number]
            self.total[buffer.name] += lanes
            self.largest[buffer.name] = max(self.largest[buffer.name], lanes)
            if self.authors.knows(buffer):
                self.authors.load(buffer, addresses, active)
        return self._native.load(ptrs, mask, other, dtype)

    def store(self, ptrs: Any, value: Any, mask: Any) -> Any:
        addresses, active = active_lanes(ptrs, mask)
        values = np.broadcast_to(value, active.shape)[active]
        touched = [self._buffers[number] for number, _ in self._check(addresses, value.dtype.itemsize, "stores")]
        for buffer in touched:
            self.authors.store(buffer, addresses, active, values)
        done = self._native.store(ptrs, value, mask)
        for buffer in touched:
            self.authors.stored(buffer, addresses, active, values)
        return done

    def atomic_rmw(self, op: Any, ptrs: Any, value: Any, mask: Any, sem: Any) -> Any:
        self._check_atomic(ptrs, mask, value)
        return self._native.atomic_rmw(op, ptrs, value, mask, sem)

    def atomic_cas(self, ptrs: Any, cmp: Any, value: Any, sem: Any) -> Any:
        self._check_atomic(ptrs, np.ones_like(ptrs, dtype=bool), value)
        return self._native.atomic_cas(ptrs, cmp, value, sem)

    def __getattr__(self, name: str) -> Any:
        """Enumerations and arithmetic pass through; a function that we do not know does not."""
        value = getattr(self._native, name)
        if callable(value) and not isinstance(value, type) and name not in NATIVE_MATH:
            raise Violation(f"The kernel uses {name}, which this exercise does not allow.")
        return value

    def _check_atomic(self, ptrs: Any, mask: Any, value: Any) -> None:
        if not self._allow_atomics:
            raise Violation("The kernel uses an atomic operation, which this exercise does not allow.")
        self._check(active_lanes(ptrs, mask)[0], value.dtype.itemsize, "stores")

    def _check(self, addresses: Any, size: int, verb: str) -> list[tuple[int, int]]:
        """The numbers of the buffers and how many lanes touch each; raises Violation for a lane outside."""
        if addresses.size == 0:
            return []
        if (number := self._inside_one(addresses, size)) is not None and (
            verb == "loads" or self._buffers[number].writable
        ):
            return [(number, int(addresses.size))]
        index = np.searchsorted(self._starts, addresses, side="right").astype(np.int64) - 1
        inside = index >= 0
        last = addresses + np.uint64(size)
        inside &= (last <= self._ends[index]) & (last > addresses) & (addresses % np.uint64(size) == 0)
        if not inside.all():
            self._refuse(int(addresses[np.argmin(inside)]), size, verb)
        if verb == "stores":
            for number in np.unique(index):
                if not self._buffers[number].writable:
                    raise Violation(f"The kernel stores to its input {self._buffers[number].name}.")
        # One access may spread over several tensors, by intent: each lane counts for the one that it touches.
        counts = np.bincount(index, minlength=len(self._buffers))
        return [(int(number), int(counts[number])) for number in np.flatnonzero(counts)]

    def _inside_one(self, addresses: Any, size: int) -> int | None:
        """The buffer that holds all of the (aligned) addresses, as nearly every access of a right kernel has one."""
        first, last = int(addresses.min()), int(addresses.max()) + size
        number = bisect_right(self._bounds, (first, sys.maxsize)) - 1
        if number < 0 or last > self._bounds[number][1]:
            return None
        return number if int(np.bitwise_or.reduce(addresses)) % size == 0 else None

    def _refuse(self, address: int, size: int, verb: str) -> None:
        """Say where the bad address lies, in terms of the buffer that it is nearest to."""
        if not self._buffers:
            raise Violation(f"The kernel {verb} memory where it was given none.")

        def distance(number: int) -> int:
            return max(int(self._starts[number]) - address, address + size - int(self._ends[number]))

        buffer = self._buffers[min(range(len(self._buffers)), key=distance)]
        tensor = buffer.tensor
        offset = (address - tensor.data_ptr()) / tensor.element_size()
        if offset != int(offset):
            raise Violation(f"The kernel {verb} at an address that is not aligned to an element of {buffer.name}.")
        limit = min(64 * max(buffer.memory.numel(), 1024), APART // tensor.element_size())
        if not -limit < offset < limit:
            raise Violation(f"The kernel {verb} far outside its tensors. Check the pointer arithmetic and the mask.")
        raise Violation(
            f"The kernel {verb} outside {buffer.name}, which has shape {shape_text(tensor)}: "
            f"{_element(int(offset), tensor)}. Check the mask and the offsets."
        )


def active_lanes(ptrs: Any, mask: Any) -> tuple[Any, Any]:
    """The addresses that an access touches, and which lanes have them: those that are not masked off."""
    addresses, active = np.asarray(ptrs, dtype=np.uint64), np.asarray(mask, dtype=bool)
    if active.shape != addresses.shape:
        active = np.broadcast_to(active, addresses.shape)
    return addresses[active], active


@contextlib.contextmanager
def guarded(buffers: list[Buffer], allow_atomics: bool) -> Iterator[dict[str, float]]:
    """While active, the interpreter touches only ``buffers``; the mapping it yields is filled in at the end."""
    measurements: dict[str, float] = {}
    guard = MemoryGuard(triton_interpreter._interpreter, buffers, allow_atomics)
    largest_dimension = 1
    builder = triton_interpreter.InterpreterBuilder
    handle = triton_interpreter.TensorHandle
    masked_load, barrier, post_init = builder.create_masked_load, builder.create_barrier, handle.__post_init__

    def poisoned_load(self: Any, ptrs: Any, mask: Any, other: Any, *args: Any, **kwargs: Any) -> Any:
        # Triton leaves lanes that are masked off without an `other` undefined; the interpreter's 0 would hide it.
        if other is None:
            other = _undefined(ptrs)
        return masked_load(self, ptrs, mask, other, *args, **kwargs)

    def observed_barrier(self: Any) -> Any:
        guard.authors.barrier()
        return barrier(self)

    def observed_post_init(self: Any) -> None:
        nonlocal largest_dimension
        post_init(self)
        shape = self.data.shape
        if shape and (longest := max(shape)) > largest_dimension:
            largest_dimension = longest

    triton_interpreter._interpreter = guard
    builder.create_masked_load = poisoned_load
    builder.create_barrier = observed_barrier
    handle.__post_init__ = observed_post_init
    try:
        yield measurements
    finally:
        triton_interpreter._interpreter = guard._native
        builder.create_masked_load = masked_load
        builder.create_barrier = barrier
        handle.__post_init__ = post_init
        measurements["largest_dimension"] = float(largest_dimension)
        measurements.update({f"total_load.{name}": float(count) for name, count in guard.total.items()})
        measurements.update({f"largest_load.{name}": float(count) for name, count in guard.largest.items()})
        measurements.update(guard.authors.measurements())


def begin_launch() -> None:
    """Within `guarded`: another launch begins."""
    triton_interpreter._interpreter.authors.begin_launch()


def _undefined(ptrs: Any) -> Any:
    element = ptrs.get_element_ty()
    dtype = triton_interpreter._get_np_dtype(element)
    pattern: Any = np.nan if np.issubdtype(dtype, np.floating) else 0
    if element is tl.bfloat16 or str(element) == "bf16":
        pattern = np.frombuffer(poison(torch.bfloat16, 1).view(torch.uint8).numpy().tobytes(), dtype=dtype)[0]
    elif np.issubdtype(dtype, np.integer):
        pattern = np.frombuffer(b"\x5a" * np.dtype(dtype).itemsize, dtype=dtype)[0]
    return triton_interpreter.TensorHandle(np.full_like(ptrs.data, pattern, dtype=dtype), element)


def _element(offset: int, tensor: torch.Tensor) -> str:
    """The element at a place in memory in words: "row 20, column 0" for a contiguous matrix."""
    if not tensor.is_contiguous():
        return f"the place {offset} elements behind its first one"
    if offset < 0:
        return "one element before its start" if offset == -1 else f"{-offset} elements before its start"
    if tensor.ndim > 2 and tensor.numel():
        index = np.unravel_index(offset % tensor[0].numel(), tuple(tensor.shape[1:]))
        return f"index ({', '.join(str(int(i)) for i in (offset // tensor[0].numel(), *index))})"
    if tensor.ndim != 2:
        return f"element {offset}"
    width = tensor.shape[1]
    return f"row {offset // width}, column {offset % width}"
