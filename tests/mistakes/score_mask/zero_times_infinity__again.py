"""Multiplies the mask by -inf and adds it: where nothing is masked, 0 * -inf makes NaN.

The same mistake, written another way.
"""

import triton
import triton.language as tl


@triton.jit
def mask_scores(s, offs_m, offs_n, NSEQ, CAUSAL: tl.constexpr):
    out = ((offs_m >= NSEQ)[:, None] | (offs_n >= NSEQ)[None, :]).to(tl.float32)
    if CAUSAL:
        out = tl.maximum(out, (offs_n[None, :] > offs_m[:, None]).to(tl.float32))
    minus_infinity = float("-inf")
    bias = out * minus_infinity
    return bias + s
