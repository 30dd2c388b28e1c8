"""Overwrites the ghost mask with the causal one instead of joining the two.

The same mistake, written another way.
"""

import triton
import triton.language as tl


@triton.jit
def mask_scores(s, offs_m, offs_n, NSEQ, CAUSAL: tl.constexpr):
    if CAUSAL:
        hidden = offs_n[None, :] > offs_m[:, None]
    else:
        hidden = (offs_m[:, None] >= NSEQ) | (offs_n[None, :] >= NSEQ)
    return tl.where(hidden, float("-inf"), s)
