"""Tells ghost columns by offs_m.

The same mistake, written another way.
"""

import triton
import triton.language as tl


@triton.jit
def mask_scores(s, offs_m, offs_n, NSEQ, CAUSAL: tl.constexpr):
    row = tl.expand_dims(offs_m, 1)
    column = tl.expand_dims(offs_n, 0)
    ghost = (row >= NSEQ) | (tl.expand_dims(offs_m, 0) >= NSEQ)
    if CAUSAL:
        ghost = ghost | (column > row)
    NOTHING: tl.constexpr = float("-inf")
    return tl.where(ghost, NOTHING, s)
