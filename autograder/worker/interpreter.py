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
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import torch
import triton.language as tl
from triton.runtime import interpreter as triton_interpreter

from autograder.worker.buffers import Buffer, poison, shape_text
from autograder.worker.faults import NotOneTruth, Violation

NATIVE_MEMORY = frozenset({"load", "store", "atomic_rmw", "atomic_cas"})
# Arithmetic on values, no addresses (since Triton 3.9).
NATIVE_MATH = frozenset({"fma_fp32", "fma_fp64"})


_TRITON = str(Path(triton_interpreter.__file__).parents[1])


class MemoryGuard:
    """Stands in for the interpreter's native module; refuses every access outside ``buffers``."""

    def __init__(self, native: Any, buffers: list[Buffer], allow_atomics: bool) -> None:
        self._native = native
        self._buffers = sorted(buffers, key=lambda buffer: buffer.tensor.data_ptr())
        self._starts = np.array([buffer.tensor.data_ptr() for buffer in self._buffers], dtype=np.uint64)
        sizes = [buffer.tensor.numel() * buffer.tensor.element_size() for buffer in self._buffers]
        self._ends = self._starts + np.array(sizes, dtype=np.uint64)
        self._bounds = [(int(start), int(end)) for start, end in zip(self._starts, self._ends, strict=True)]
        self._allow_atomics = allow_atomics
        self._authors: dict[int, Any] = {}
        self.disputed: dict[str, int] = {}
        self.total: dict[str, int] = defaultdict(int)
        self.largest: dict[str, int] = defaultdict(int)

    def load(self, ptrs: Any, mask: Any, other: Any, dtype: Any) -> Any:
        for name, lanes in self._check(ptrs, mask, np.dtype(dtype).itemsize, "loads"):
            self.total[name] += lanes
            self.largest[name] = max(self.largest[name], lanes)
            if self._authors:
                self._note_author(ptrs, mask, name, "loads")
        return self._native.load(ptrs, mask, other, dtype)

    def store(self, ptrs: Any, value: Any, mask: Any) -> Any:
        for name, _ in self._check(ptrs, mask, value.dtype.itemsize, "stores"):
            self._note_author(ptrs, mask, name, "stores")
        return self._native.store(ptrs, value, mask)

    def begin_launch(self) -> None:
        """Forget who has stored what: a launch sees all that an earlier one has stored."""
        self._authors.clear()

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

    def _note_author(self, ptrs: Any, mask: Any, name: str, verb: str) -> None:
        """Note which program stores to which element, and the first element that two have to do with.

        Here programs run one after another, from the first on; on a GPU they run at once and in any order, and such an
        element holds whatever came last.
        """
        number = next(i for i, buffer in enumerate(self._buffers) if buffer.name == name)
        buffer = self._buffers[number]
        if not buffer.writable:
            return
        addresses = np.asarray(ptrs, dtype=np.uint64)[np.broadcast_to(np.asarray(mask, dtype=bool), np.shape(ptrs))]
        start, end = self._bounds[number]
        elements = (addresses[(addresses >= start) & (addresses < end)] - np.uint64(start)).astype(np.int64)
        elements //= buffer.tensor.element_size()
        authors = self._authors.setdefault(number, np.full(buffer.tensor.numel(), -1, dtype=np.int64))
        x, y, z = triton_interpreter.interpreter_builder.grid_idx
        program = x + (y << 20) + (z << 40)
        others = (authors[elements] != -1) & (authors[elements] != program)
        if others.any():
            self.disputed.setdefault(f"{verb}_of_another.{name}", int(elements[np.argmax(others)]))
        if verb == "stores":
            authors[elements] = program

    def _check_atomic(self, ptrs: Any, mask: Any, value: Any) -> None:
        if not self._allow_atomics:
            raise Violation("The kernel uses an atomic operation, which this exercise does not allow.")
        self._check(ptrs, mask, value.dtype.itemsize, "stores")

    def _check(self, ptrs: Any, mask: Any, size: int, verb: str) -> list[tuple[str, int]]:
        """The buffers and how many active lanes touch each; raises Violation for a lane outside."""
        addresses = np.asarray(ptrs, dtype=np.uint64)[np.broadcast_to(np.asarray(mask, dtype=bool), np.shape(ptrs))]
        if addresses.size == 0:
            return []
        if (number := self._inside_one(addresses, size)) is not None and (
            verb == "loads" or self._buffers[number].writable
        ):
            return [(self._buffers[number].name, int(addresses.size))]
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
        return [(self._buffers[number].name, int(counts[number])) for number in np.flatnonzero(counts)]

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
        limit = 64 * max(tensor.numel(), 1024)
        if not -limit < offset < limit:
            raise Violation(f"The kernel {verb} far outside its tensors. Check the pointer arithmetic and the mask.")
        raise Violation(
            f"The kernel {verb} outside {buffer.name}, which has shape {shape_text(tensor)}: "
            f"{_element(int(offset), tensor)}. Check the mask and the offsets."
        )


class Recorder:
    """The largest dimension of any tile that came up."""

    def __init__(self) -> None:
        self.largest_dimension = 1

    def see(self, data: Any) -> None:
        if data.ndim and (longest := max(data.shape)) > self.largest_dimension:
            self.largest_dimension = longest


@contextlib.contextmanager
def guarded(buffers: list[Buffer], allow_atomics: bool) -> Iterator[dict[str, float]]:
    """While active, the interpreter touches only ``buffers``; the mapping it yields is filled in at the end."""
    measurements: dict[str, float] = {}
    guard = MemoryGuard(triton_interpreter._interpreter, buffers, allow_atomics)
    recorder = Recorder()
    builder = triton_interpreter.InterpreterBuilder
    handle = triton_interpreter.TensorHandle
    masked_load, post_init = builder.create_masked_load, handle.__post_init__

    def poisoned_load(self: Any, ptrs: Any, mask: Any, other: Any, *args: Any, **kwargs: Any) -> Any:
        # Triton leaves lanes that are masked off without an `other` undefined; the interpreter's 0 would hide it.
        if other is None:
            other = _undefined(ptrs)
        return masked_load(self, ptrs, mask, other, *args, **kwargs)

    def observed_post_init(self: Any) -> None:
        post_init(self)
        recorder.see(self.data)

    triton_interpreter._interpreter = guard
    builder.create_masked_load = poisoned_load
    handle.__post_init__ = observed_post_init
    try:
        yield measurements
    finally:
        triton_interpreter._interpreter = guard._native
        builder.create_masked_load = masked_load
        handle.__post_init__ = post_init
        measurements["largest_dimension"] = float(recorder.largest_dimension)
        measurements.update({f"total_load.{name}": float(count) for name, count in guard.total.items()})
        measurements.update({f"largest_load.{name}": float(count) for name, count in guard.largest.items()})
        measurements.update({name: float(element) for name, element in guard.disputed.items()})


def begin_launch() -> None:
    """Within `guarded`: another launch begins."""
    triton_interpreter._interpreter.begin_launch()


class _Kept:
    """In place of Triton's list of what to undo after a launch: nothing is."""

    def restore(self) -> None:
        pass


def settle() -> None:
    """Make this process one that interprets, and does nothing else; half as slow as Triton leaves it.

    Triton puts the interpreter's functions in the place of the language's before each launch and at each call of one
    jit function by another, and takes them away after each launch.  Here they are put there once.  Tiles are strict
    about their truth, see `_single_truth`.  Integers wrap around as they do on a GPU, where Triton looks for overflow
    in debug mode only; a wrong address is noticed all the same, by `MemoryGuard`.
    """
    builder = triton_interpreter.interpreter_builder
    builder.options = replace(builder.options, sanitize_overflow=False)
    patch, patch_tensor = triton_interpreter._patch_lang, triton_interpreter._patch_lang_tensor
    patched: set[frozenset[int]] = set()

    def patch_once(function: Any) -> _Kept:
        modules = frozenset(id(value) for value in function.__globals__.values() if value is tl or value is tl.core)
        if modules not in patched:
            patch(function)
            patched.add(modules)
        return _Kept()

    def strict_patch_tensor(tensor: Any, scope: Any) -> None:
        patch_tensor(tensor, scope)
        scope.set_attr(tensor, "__bool__", _single_truth)

    triton_interpreter._patch_lang = patch_once
    triton_interpreter._patch_lang_tensor = strict_patch_tensor


def _single_truth(tensor: Any) -> bool:
    """The interpreter takes any tile for true in `and`, `or`, `not` and `if`, which is wrong without a word.

    Triton's own code asks tiles for their truth too, to see whether they are there: it gets its answer.
    """
    data = tensor.handle.data
    if data.size != 1:
        if sys._getframe(1).f_code.co_filename.startswith(_TRITON):
            return True
        raise NotOneTruth(
            "`and`, `or`, `not` and `if` take a single truth value, and this is a tile of them. "
            "Between tiles write &, | and ~, with parentheses around comparisons."
        )
    return bool(data)


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
    """Element ``offset`` of a contiguous tensor in words: "row 20, column 0" for a matrix."""
    if tensor.ndim != 2 or offset < 0:
        return f"element {offset}"
    width = tensor.shape[1]
    return f"row {offset // width}, column {offset % width}"
