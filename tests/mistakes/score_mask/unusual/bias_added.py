"""Adds 0 or -inf to the scores: exact, as the scores are finite."""

import triton
import triton.language as tl


@triton.jit
def mask_scores(s, offs_m, offs_n, NSEQ, CAUSAL: tl.constexpr):
    last = tl.minimum(offs_m, NSEQ - 1) if CAUSAL else offs_m * 0 + (NSEQ - 1)
    keep = (offs_n[None, :] <= last[:, None]) & (offs_m[:, None] < NSEQ)
    bias = tl.where(keep, 0.0, float("-inf"))
    return s + bias
