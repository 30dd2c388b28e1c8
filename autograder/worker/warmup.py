"""Pay for first launches before the fork: import the lazy parts, and in interpreter mode run one small kernel."""

from __future__ import annotations

import torch
import triton
import triton.language as tl
from triton import knobs


@triton.jit
def _add_one(x):
    return x + 1.0


@triton.jit
def _kernel(x_ptr, size, BLOCK: tl.constexpr, helper: tl.constexpr):
    offs = tl.arange(0, BLOCK)
    x = tl.load(x_ptr + offs[:, None] * BLOCK + offs[None, :], mask=offs[:, None] < size, other=0.0)
    acc = tl.zeros((BLOCK, BLOCK), tl.float32)
    for _ in range(0, size, BLOCK):
        acc += tl.dot(helper(x), tl.trans(x), input_precision="ieee")
    acc = tl.where(acc > 0.0, tl.exp(-acc), tl.log(tl.maximum(tl.max(acc, 1), 1.0))[:, None] + tl.sum(acc, 0)[None, :])
    tl.store(x_ptr + offs[:, None] * BLOCK + offs[None, :], acc, mask=offs[:, None] < size)


def warm_up() -> None:
    """Leave nothing but warm caches behind."""
    if knobs.runtime.interpret:
        from autograder.worker.interpreter import settle

        settle()
        _kernel[(1,)](torch.ones(16, 16), 16, BLOCK=16, helper=_add_one)
    else:
        import triton.backends.nvidia.compiler
        import triton.compiler.compiler  # noqa: F401
