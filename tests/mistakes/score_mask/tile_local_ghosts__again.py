"""Counts ghosts from the start of the tile: every tile is masked as if it were the first.

The same mistake, written another way.
"""

import triton
import triton.language as tl


@triton.jit
def mask_scores(s, offs_m, offs_n, NSEQ, CAUSAL: tl.constexpr):
    row = tl.expand_dims(offs_m, 1)
    column = tl.expand_dims(offs_n, 0)
    first = tl.min(offs_m, 0)
    first_key = tl.min(offs_n, 0)
    ghost = (row - first >= NSEQ) | (column - first_key >= NSEQ)
    if CAUSAL:
        ghost = ghost | (column > row)
    NOTHING: tl.constexpr = float("-inf")
    return tl.where(ghost, NOTHING, s)
