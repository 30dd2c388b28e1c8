"""Applies the causal rule only and never asks which rows and columns exist.

The same mistake, written another way.
"""

import triton
import triton.language as tl


@triton.jit
def sees(query, key):
    return (key[None, :] - query[:, None]) < 1


@triton.jit
def mask_scores(s, offs_m, offs_n, NSEQ, CAUSAL: tl.constexpr):
    visible = (offs_m[:, None] >= 0) & (offs_n[None, :] >= 0)
    if CAUSAL:
        visible &= sees(offs_m, offs_n)
    return tl.where(visible, s, float("-inf"))
