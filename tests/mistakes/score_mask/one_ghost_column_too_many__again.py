"""Masks the columns with <= NSEQ: the first ghost column passes for real.

The same mistake, written another way.
"""

import triton
import triton.language as tl


@triton.jit
def mask_scores(s, offs_m, offs_n, NSEQ, CAUSAL: tl.constexpr):
    row = tl.expand_dims(offs_m, 1)
    column = tl.expand_dims(offs_n, 0)
    ghost = (row >= NSEQ) | (column > NSEQ)
    if CAUSAL:
        ghost = ghost | (column > row)
    NOTHING: tl.constexpr = float("-inf")
    return tl.where(ghost, NOTHING, s)
