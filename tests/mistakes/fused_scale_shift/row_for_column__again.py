"""Divides with // where the remainder is wanted, and takes scale and shift by the row.

The same mistake, written another way.
"""

import triton
import triton.language as tl


@triton.jit
def fused_scale_shift_kernel(x_ptr, scale_ptr, shift_ptr, y_ptr, n, n_columns, BLOCK: tl.constexpr):
    index = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    real = index < n
    remainder = index % n_columns
    which = (index - remainder) // n_columns
    factor = tl.load(scale_ptr + which, mask=real, other=0.0)
    addend = tl.load(shift_ptr + which, mask=real, other=0.0)
    tl.store(y_ptr + index, addend + factor * tl.load(x_ptr + index, mask=real, other=0.0), mask=real)
