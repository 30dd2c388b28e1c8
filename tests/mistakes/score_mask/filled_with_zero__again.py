"""Sets the scores that must not count to 0, which still gives them weight after exp, instead of -inf.

The same mistake, written another way.
"""

import triton
import triton.language as tl


@triton.jit
def sees(query, key):
    return (key[None, :] - query[:, None]) < 1


@triton.jit
def mask_scores(s, offs_m, offs_n, NSEQ, CAUSAL: tl.constexpr):
    row_real = (offs_m < NSEQ).to(tl.float32)
    column_real = (offs_n < NSEQ).to(tl.float32)
    s = s * row_real[:, None] * column_real[None, :]
    if CAUSAL:
        s = s * sees(offs_m, offs_n).to(tl.float32)
    return s
