"""Lowers masked scores by a large number instead of replacing them.

The same mistake, written another way.
"""

import triton
import triton.language as tl


@triton.jit
def sees(query, key):
    return (key[None, :] - query[:, None]) < 1


@triton.jit
def mask_scores(s, offs_m, offs_n, NSEQ, CAUSAL: tl.constexpr):
    penalty = tl.where((offs_m < NSEQ)[:, None] & (offs_n < NSEQ)[None, :], 0.0, 1.0e6)
    if CAUSAL:
        penalty = tl.where(sees(offs_m, offs_n), penalty, 1.0e6)
    return s - penalty
