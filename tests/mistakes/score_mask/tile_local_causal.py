"""Compares places inside the tile, which start at 0 in every tile, instead of the indices handed in."""

import triton
import triton.language as tl


@triton.jit
def mask_scores(s, offs_m, offs_n, NSEQ, CAUSAL: tl.constexpr):
    keep = (offs_m[:, None] < NSEQ) & (offs_n[None, :] < NSEQ)
    if CAUSAL:
        row = tl.arange(0, s.shape[0])
        column = tl.arange(0, s.shape[1])
        keep = keep & (column[None, :] <= row[:, None])
    return tl.where(keep, s, float("-inf"))
