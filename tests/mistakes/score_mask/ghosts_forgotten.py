"""Applies the causal rule only and never asks which rows and columns exist."""

import triton
import triton.language as tl


@triton.jit
def mask_scores(s, offs_m, offs_n, NSEQ, CAUSAL: tl.constexpr):
    if CAUSAL:
        s = tl.where(offs_m[:, None] >= offs_n[None, :], s, float("-inf"))
    return s
