"""Never looks at CAUSAL: the future stays visible.

The same mistake, written another way.
"""

import triton
import triton.language as tl


@triton.jit
def mask_scores(s, offs_m, offs_n, NSEQ, CAUSAL: tl.constexpr):
    s = tl.where((offs_m < NSEQ)[:, None], s, float("-inf"))
    s = tl.where((offs_n < NSEQ)[None, :], s, float("-inf"))
    return s
