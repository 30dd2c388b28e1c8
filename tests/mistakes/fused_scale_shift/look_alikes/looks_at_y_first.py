"""Loads y before anything is in it, to put back what lanes without an element held."""

# may be called: two_passes

import triton
import triton.language as tl


@triton.jit
def fused_scale_shift_kernel(x_ptr, scale_ptr, shift_ptr, y_ptr, n, n_columns, BLOCK: tl.constexpr):
    offs = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    column = offs % n_columns
    before = tl.load(y_ptr + offs, mask=offs < n)
    y = tl.load(x_ptr + offs, mask=offs < n) * tl.load(scale_ptr + column) + tl.load(shift_ptr + column)
    tl.store(y_ptr + offs, tl.where(offs < n, y, before), mask=offs < n)
