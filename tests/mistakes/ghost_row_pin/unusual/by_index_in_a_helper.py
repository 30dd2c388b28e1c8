"""The pin by index, with a helper function and a pin other than 0."""

import triton
import triton.language as tl


@triton.jit
def larger(a, b):
    return tl.maximum(a, b)


@triton.jit
def pinned(m, beyond):
    return tl.where(beyond < 0, m, 1.0)


@triton.jit
def pin_ghost_rows(s, offs_m, NSEQ):
    return pinned(tl.reduce(s, 1, larger), offs_m - NSEQ)
