"""Loads x a second time, to set apart the lanes where the scale makes no difference."""

# seen on: cpu

import triton
import triton.language as tl


@triton.jit
def fused_scale_shift_kernel(x_ptr, scale_ptr, shift_ptr, y_ptr, n, n_columns, BLOCK: tl.constexpr):
    offs = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = offs < n
    column = offs % n_columns
    scale = tl.load(scale_ptr + column)
    shift = tl.load(shift_ptr + column)
    scaled = tl.load(x_ptr + offs, mask=mask) * scale
    y = tl.where(scale == 1.0, tl.load(x_ptr + offs, mask=mask), scaled) + shift
    tl.store(y_ptr + offs, y, mask=mask)
