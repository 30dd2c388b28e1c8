"""Finds the row first, and the column as what is left; loads scale and shift under the mask."""

import triton
import triton.language as tl


@triton.jit
def fused_scale_shift_kernel(x_ptr, scale_ptr, shift_ptr, y_ptr, n, n_columns, BLOCK: tl.constexpr):
    offs = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    row = offs // n_columns
    column = offs - row * n_columns
    exists = offs < n
    x = tl.load(x_ptr + row * n_columns + column, mask=exists, other=0.0)
    scale = tl.load(scale_ptr + column, mask=exists, other=1.0)
    shift = tl.load(shift_ptr + column, mask=exists, other=0.0)
    tl.store(y_ptr + offs, tl.fma(x, scale, shift), mask=exists)
