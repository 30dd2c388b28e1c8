"""Decides by `a if t else b` what each element would have to decide for itself."""

# may be called: tile_as_one_truth_value

import triton
import triton.language as tl


@triton.jit
def mask_scores(s, offs_m, offs_n, NSEQ, CAUSAL: tl.constexpr):
    keep = (offs_m[:, None] < NSEQ) & (offs_n[None, :] < NSEQ)
    return s if keep else s - float("inf")
