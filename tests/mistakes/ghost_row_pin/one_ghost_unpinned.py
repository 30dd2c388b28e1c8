"""Compares with <= NSEQ: the first ghost row is left at -inf."""

import triton
import triton.language as tl


@triton.jit
def pin_ghost_rows(s, offs_m, NSEQ):
    m = tl.max(s, 1)
    return tl.where(offs_m <= NSEQ, m, 0.0)
