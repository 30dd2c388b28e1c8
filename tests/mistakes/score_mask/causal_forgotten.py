"""Never looks at CAUSAL: the future stays visible."""

import triton
import triton.language as tl


@triton.jit
def mask_scores(s, offs_m, offs_n, NSEQ, CAUSAL: tl.constexpr):
    keep = (offs_m[:, None] < NSEQ) & (offs_n[None, :] < NSEQ)
    return tl.where(keep, s, float("-inf"))
