"""Loads x a second time, to set apart the lanes where the scale makes no difference.

The same mistake, written another way.
"""

# seen on: cpu

import triton
import triton.language as tl


@triton.jit
def scaled(x_ptr, scale_ptr, index, which, real):
    """x * scale at ``index``, whose columns are ``which``."""
    return tl.load(x_ptr + index, mask=real) * tl.load(scale_ptr + which)


@triton.jit
def fused_scale_shift_kernel(x_ptr, scale_ptr, shift_ptr, y_ptr, n, n_columns, BLOCK: tl.constexpr):
    index = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    real = index < n
    which = index % n_columns
    value = scaled(x_ptr, scale_ptr, index, which, real)
    unit = tl.load(scale_ptr + which) == 1.0
    plain = tl.load(x_ptr + index, mask=real)
    value = tl.where(unit, plain, value)
    tl.store(y_ptr + index, value + tl.load(shift_ptr + which), mask=real)
