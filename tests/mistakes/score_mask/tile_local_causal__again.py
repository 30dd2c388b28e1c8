"""Compares places inside the tile, which start at 0 in every tile, instead of the indices handed in.

The same mistake, written another way.
"""

import triton
import triton.language as tl


@triton.jit
def hide_future(scores, query, key):
    BLOCK_M: tl.constexpr = scores.shape[0]
    BLOCK_N: tl.constexpr = scores.shape[1]
    seen = tl.arange(0, BLOCK_M)[:, None] >= tl.arange(0, BLOCK_N)[None, :]
    return tl.where(seen, scores, float("-inf"))


@triton.jit
def mask_scores(s, offs_m, offs_n, NSEQ, CAUSAL: tl.constexpr):
    s = tl.where((offs_m < NSEQ)[:, None], s, float("-inf"))
    s = tl.where((offs_n < NSEQ)[None, :], s, float("-inf"))
    if CAUSAL:
        s = hide_future(s, offs_m, offs_n)
    return s
