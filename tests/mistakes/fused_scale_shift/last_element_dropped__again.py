"""Masks with < n - 1: the last element is never written.

The same mistake, written another way.
"""

import triton
import triton.language as tl


@triton.jit
def fused_scale_shift_kernel(x_ptr, scale_ptr, shift_ptr, y_ptr, n, n_columns, BLOCK: tl.constexpr):
    index = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    real = index + 1 < n
    which = index % n_columns
    factor, addend = tl.load(scale_ptr + which), tl.load(shift_ptr + which)
    tl.store(y_ptr + index, tl.load(x_ptr + index, mask=real) * factor + addend, mask=real)
