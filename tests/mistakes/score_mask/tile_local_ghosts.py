"""Counts ghosts from the start of the tile: every tile is masked as if it were the first."""

import triton
import triton.language as tl


@triton.jit
def mask_scores(s, offs_m, offs_n, NSEQ, CAUSAL: tl.constexpr):
    row = tl.arange(0, s.shape[0])[:, None]
    column = tl.arange(0, s.shape[1])[None, :]
    keep = (row < NSEQ) & (column < NSEQ)
    if CAUSAL:
        keep = keep & (offs_n[None, :] <= offs_m[:, None])
    return tl.where(keep, s, float("-inf"))
