"""Returns where the maximum is (argmax) instead of how large it is."""

import triton
import triton.language as tl


@triton.jit
def pin_ghost_rows(s, offs_m, NSEQ):
    m = tl.argmax(s, 1).to(tl.float32)
    return tl.where(offs_m < NSEQ, m, 0.0)
