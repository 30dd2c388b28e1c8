"""Collects what is hidden and turns it over with Python's `not`, which Triton compiles element by element."""

import triton
import triton.language as tl


@triton.jit
def mask_scores(s, offs_m, offs_n, NSEQ, CAUSAL: tl.constexpr):
    hidden = (offs_m >= NSEQ)[:, None] | (offs_n >= NSEQ)[None, :]
    if not CAUSAL:
        return tl.where(not hidden, s, float("-inf"))
    hidden = hidden | (offs_n[None, :] > offs_m[:, None])
    return tl.where(not hidden, s, float("-inf"))
