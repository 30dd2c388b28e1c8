"""Writes x * scale to y, reads it back, and adds the shift in a second pass.

The same mistake, written another way.
"""

# seen on: cpu

import triton
import triton.language as tl


@triton.jit
def scale_block(x_ptr, scale_ptr, y_ptr, index, n, n_columns):
    """y = x * scale at ``index``."""
    value = tl.load(x_ptr + index, mask=index < n)
    tl.store(y_ptr + index, value * tl.load(scale_ptr + index % n_columns), mask=index < n)


@triton.jit
def shift_block(shift_ptr, y_ptr, index, n, n_columns):
    """y = y + shift at ``index``."""
    value = tl.load(y_ptr + index, mask=index < n)
    tl.store(y_ptr + index, value + tl.load(shift_ptr + index % n_columns), mask=index < n)


@triton.jit
def fused_scale_shift_kernel(x_ptr, scale_ptr, shift_ptr, y_ptr, n, n_columns, BLOCK: tl.constexpr):
    index = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    scale_block(x_ptr, scale_ptr, y_ptr, index, n, n_columns)
    shift_block(shift_ptr, y_ptr, index, n, n_columns)
