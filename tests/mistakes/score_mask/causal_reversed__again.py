"""Turns the causal rule around: a query sees the future and not the past.

The same mistake, written another way.
"""

import triton
import triton.language as tl


@triton.jit
def hide_future(scores, query, key):
    seen = query[:, None] <= key[None, :]
    return tl.where(seen, scores, float("-inf"))


@triton.jit
def mask_scores(s, offs_m, offs_n, NSEQ, CAUSAL: tl.constexpr):
    s = tl.where((offs_m < NSEQ)[:, None], s, float("-inf"))
    s = tl.where((offs_n < NSEQ)[None, :], s, float("-inf"))
    if CAUSAL:
        s = hide_future(s, offs_m, offs_n)
    return s
