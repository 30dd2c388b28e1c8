"""Multiplies by the shift and adds the scale.

The same mistake, written another way.
"""

import triton
import triton.language as tl


@triton.jit
def fused_scale_shift_kernel(x_ptr, scale_ptr, shift_ptr, y_ptr, n, n_columns, BLOCK: tl.constexpr):
    index = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    real = index < n
    which = index % n_columns
    factor = tl.load(scale_ptr + which)
    addend = tl.load(shift_ptr + which)
    value = tl.load(x_ptr + index, mask=real)
    value *= addend
    value += factor
    tl.store(y_ptr + index, value, mask=real)
