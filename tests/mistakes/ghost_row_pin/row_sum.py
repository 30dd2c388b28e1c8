"""Adds a row's scores up instead of taking the largest."""

import triton
import triton.language as tl


@triton.jit
def pin_ghost_rows(s, offs_m, NSEQ):
    m = tl.sum(s, 1)
    return tl.where(offs_m < NSEQ, m, 0.0)
