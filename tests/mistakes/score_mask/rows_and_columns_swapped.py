"""Spreads the query index along the columns and the key index along the rows."""

import triton
import triton.language as tl


@triton.jit
def mask_scores(s, offs_m, offs_n, NSEQ, CAUSAL: tl.constexpr):
    query = offs_m[None, :]
    key = offs_n[:, None]
    keep = (query < NSEQ) & (key < NSEQ)
    if CAUSAL:
        keep = keep & (key <= query)
    return tl.where(keep, s, float("-inf"))
