"""CUDA: what to change about Triton's compiler in a child, and what can be read off a compiled kernel."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

_TENSOR_TYPE = re.compile(r"tensor<((?:\d+x)+)")


def poison_undefined_lanes() -> None:
    """Have a masked load without ``other`` give NaN in the lanes that are masked off, as the interpreter does here.

    Triton leaves such lanes undefined, and on most GPUs they happen to read 0, which hides a missing ``other=0.0``.
    """
    from triton.language.semantic import TritonSemantic

    plain_load = TritonSemantic.load

    def load(self: Any, ptr: Any, mask: Any, other: Any, *args: Any, **kwargs: Any) -> Any:
        if mask is not None and other is None and ptr.type.scalar.is_ptr():
            element = ptr.type.scalar.element_ty
            if element.is_floating():
                other = self.to_tensor(float("nan"))
        return plain_load(self, ptr, mask, other, *args, **kwargs)

    TritonSemantic.load = load


def take_numbers_as_they_come(kernel: Any, args: tuple[Any, ...], meta: Mapping[str, Any]) -> None:
    """Have one variant of a kernel serve all run-time integers.

    Triton compiles a kernel anew where a length is 1 or a multiple of 16.  The interpreter knows no such variants, and
    compiling is most of what grading on a GPU takes.
    """
    given = dict(zip(kernel.arg_names, args, strict=False)) | dict(meta)
    for parameter in kernel.params:
        if type(given.get(parameter.name)) is int and not parameter.is_constexpr:
            parameter.do_not_specialize = True


def measure(kernels: list[Any]) -> dict[str, float]:
    """Shared memory in bytes and the largest dimension of any tile, over the compiled kernels of one launch."""
    largest, shared = 1, 0
    for kernel in kernels:
        shared = max(shared, int(kernel.metadata.shared))
        for match in _TENSOR_TYPE.finditer(kernel.asm["ttir"]):
            largest = max(largest, *(int(size) for size in match.group(1).rstrip("x").split("x")))
    return {"largest_dimension": float(largest), "shared_bytes": float(shared)}
