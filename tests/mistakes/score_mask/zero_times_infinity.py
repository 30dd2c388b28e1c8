"""Multiplies the mask by -inf and adds it: where nothing is masked, 0 * -inf makes NaN."""

import triton
import triton.language as tl


@triton.jit
def mask_scores(s, offs_m, offs_n, NSEQ, CAUSAL: tl.constexpr):
    keep = (offs_m[:, None] < NSEQ) & (offs_n[None, :] < NSEQ)
    if CAUSAL:
        keep = keep & (offs_n[None, :] <= offs_m[:, None])
    return s + (1.0 - keep.to(tl.float32)) * float("-inf")
