"""CPU: what a kernel tells the compiler of its numbers is held to be true, as the compiler will build on it.

The interpreter takes no notice of `tl.multiple_of`, `tl.max_contiguous` and `tl.max_constancy`.  On a GPU the compiler
loads several elements at once where they say so, and the wrong ones if it is not so.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import wraps
from typing import Any

import numpy as np
from triton.runtime import interpreter as triton_interpreter

from autograder.worker.faults import Violation

# Beyond this many bytes the address of a tensor is what the allocator makes of it.
_ALIGNED = 16


def hold_to_hints() -> None:
    """From here on a hint that is not so ends the kernel with a `Violation`."""
    handle = triton_interpreter.TensorHandle
    handle.set_attr = _checked(handle.set_attr)


def _checked(set_attribute: Callable[[Any, str, Any], None]) -> Callable[[Any, str, Any], None]:
    @wraps(set_attribute)
    def set_true_attribute(self: Any, key: str, values: Sequence[int]) -> None:
        set_attribute(self, key, values)
        if key in _HINTS:
            name, holds = _HINTS[key]
            # Pointers are counted in elements, but for the multiples of an address.
            size = max(1, self.dtype.element_ty.primitive_bitwidth // 8) if self.dtype.is_ptr() else 1
            data = np.atleast_1d(self.data)
            for axis, value in enumerate(values):
                if not holds(data, axis, int(value), size):
                    place = f" along axis {axis}" if data.size > 1 else ""
                    raise Violation(
                        f"tl.{name} promises {value}{place}, and that is not so here: on a GPU the "
                        "compiler may load the wrong elements. Correct the promise, or leave it out."
                    )

    return set_true_attribute


def _runs_of(step: int) -> Callable[[Any, int, int, int], bool]:
    """Whether along an axis every aligned run of so many numbers grows by ``step`` from each to the next."""

    def holds(data: Any, axis: int, length: int, size: int) -> bool:
        length = min(length, data.shape[axis])
        return length <= 1 or _run_length(data, axis, step * size) % length == 0

    return holds


def _run_length(data: Any, axis: int, step: int) -> int:
    """The largest power of two such that along an axis all aligned runs of that length grow by ``step``.

    The sizes of tiles are powers of two.
    """
    whole = data.shape[axis]
    breaks = np.flatnonzero((np.diff(data.astype(np.int64), axis=axis) != step).any(tuple(_others(data, axis)))) + 1
    return math.gcd(whole, *(int(place) for place in breaks))


def _others(data: Any, axis: int) -> list[int]:
    return [other for other in range(data.ndim) if other != axis]


def _is_multiple(data: Any, axis: int, value: int, size: int) -> bool:
    """Whether the first number of each run of consecutive ones is a multiple, as the compiler takes it.

    It asks only about the axis along which elements lie side by side: that one decides what is loaded at once.
    """
    runs = [_run_length(data, each, size) for each in range(data.ndim)]
    if runs[axis] < max(runs) or value == 0:
        return True
    starts = np.take(data, range(0, data.shape[axis], runs[axis]), axis=axis).astype(np.int64)
    return not (starts % (min(value, _ALIGNED) if size > 1 else value)).any()


_HINTS = {
    "tt.divisibility": ("multiple_of", _is_multiple),
    "tt.contiguity": ("max_contiguous", _runs_of(1)),
    "tt.constancy": ("max_constancy", _runs_of(0)),
}
