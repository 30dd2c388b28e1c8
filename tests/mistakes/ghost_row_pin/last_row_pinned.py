"""Compares with NSEQ - 1: the last live row is pinned too."""

import triton
import triton.language as tl


@triton.jit
def pin_ghost_rows(s, offs_m, NSEQ):
    m = tl.max(s, 1)
    return tl.where(offs_m < NSEQ - 1, m, 0.0)
