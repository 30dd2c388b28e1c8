"""Pay for first launches before the fork: import the lazy parts, and in interpreter mode run one small kernel."""

from __future__ import annotations

import contextlib
import inspect
from typing import Any

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
        _learn_about_the_compiler()


def _learn_about_the_compiler() -> None:
    """Have Triton find out what is the same for every kernel, without opening CUDA.

    Before a process compiles its first kernel it hashes all of Triton, 400 MB, and asks assemblers for their versions.
    """
    from autograder.worker.lowering import find_tools

    find_tools()
    with contextlib.suppress(ImportError, AttributeError):  # only a question of time
        from triton.runtime.build import platform_key
        from triton.runtime.cache import triton_key

        triton_key()
        platform_key()
        _build_without_optimising()


def _build_without_optimising() -> None:
    """Have Triton's launchers in C built in half the time: each does its little work once or twice."""
    from triton.runtime import build

    plain = build._build
    signature = inspect.signature(plain)

    def quick(*args: Any, **kwargs: Any) -> Any:
        call = signature.bind(*args, **kwargs)
        call.arguments["ccflags"] = [*call.arguments.get("ccflags", ()), "-O0"]  # the last of several counts
        return plain(*call.args, **call.kwargs)

    if "ccflags" in signature.parameters:
        build._build = quick
