"""Leaves out the parentheses around a comparison: & binds tighter than <, and the mask means something else.

The same mistake, written another way.
"""

import triton
import triton.language as tl


@triton.jit
def mask_scores(s, offs_m, offs_n, NSEQ, CAUSAL: tl.constexpr):
    row_real = offs_m[:, None] < NSEQ
    keep = row_real & offs_n[None, :] < NSEQ
    if CAUSAL:
        keep = keep & (offs_m[:, None] >= offs_n[None, :])
    return tl.where(keep, s, float("-inf"))
