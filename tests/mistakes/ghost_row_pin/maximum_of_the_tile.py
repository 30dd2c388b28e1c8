"""Uses one maximum for the whole tile: rows far below it vanish in exp."""

import triton
import triton.language as tl


@triton.jit
def pin_ghost_rows(s, offs_m, NSEQ):
    m = tl.max(tl.max(s, 1), 0)
    return tl.zeros_like(offs_m).to(tl.float32) + m
