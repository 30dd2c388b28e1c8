"""Looks for NaN to pin, but the NaN comes only later: the maximum of a ghost row is -inf.

The same mistake, written another way.
"""

import triton
import triton.language as tl


@triton.jit
def pin_ghost_rows(s, offs_m, NSEQ):
    top = tl.max(s, axis=1)
    fine = top == top
    return tl.where(fine, top, tl.full(top.shape, 0.0, tl.float32))
