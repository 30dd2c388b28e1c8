"""Multiplies integer masks and compares the product with 0."""

import triton
import triton.language as tl


@triton.jit
def mask_scores(s, offs_m, offs_n, NSEQ, CAUSAL: tl.constexpr):
    rows = (offs_m < NSEQ).to(tl.int32)
    columns = (offs_n < NSEQ).to(tl.int32)
    keep = rows[:, None] * columns[None, :]
    if CAUSAL:
        keep *= (offs_m[:, None] >= offs_n[None, :]).to(tl.int32)
    return tl.where(keep != 0, s, -float("inf"))
