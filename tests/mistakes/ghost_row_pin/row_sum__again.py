"""Adds a row's scores up instead of taking the largest.

The same mistake, written another way.
"""

import triton
import triton.language as tl


@triton.jit
def pin_ghost_rows(s, offs_m, NSEQ):
    ghost = offs_m >= NSEQ
    total = s.sum(axis=1)
    return tl.where(ghost, 0.0, total)
