"""Lanes without an element do the last one over again, with the same result."""

import triton
import triton.language as tl


@triton.jit
def fused_scale_shift_kernel(x_ptr, scale_ptr, shift_ptr, y_ptr, n, n_columns, BLOCK: tl.constexpr):
    offs = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    exists = offs < n
    offs = tl.minimum(offs, n - 1)
    column = offs % n_columns
    y = tl.load(x_ptr + offs, mask=exists, other=0.0) * tl.load(scale_ptr + column) + tl.load(shift_ptr + column)
    tl.store(y_ptr + offs, y, mask=exists)
