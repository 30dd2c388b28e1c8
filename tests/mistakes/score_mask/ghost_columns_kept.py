"""Masks ghost rows but not ghost columns: keys that do not exist keep a score."""

import triton
import triton.language as tl


@triton.jit
def mask_scores(s, offs_m, offs_n, NSEQ, CAUSAL: tl.constexpr):
    keep = (offs_m[:, None] < NSEQ) & (offs_n[None, :] >= 0)
    if CAUSAL:
        keep = keep & (offs_n[None, :] <= offs_m[:, None])
    return tl.where(keep, s, float("-inf"))
