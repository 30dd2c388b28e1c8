"""Fills the ghost rows with a finite number and takes the maximum after that."""

import triton
import triton.language as tl


@triton.jit
def pin_ghost_rows(s, offs_m, NSEQ):
    ghost = tl.expand_dims(offs_m, 1) >= NSEQ
    return tl.max(tl.where(ghost, 7.0, s), axis=1)
