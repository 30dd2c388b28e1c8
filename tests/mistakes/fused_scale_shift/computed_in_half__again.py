"""Rounds the result to float16 before it is stored as float32.

The same mistake, written another way.
"""

import triton
import triton.language as tl


@triton.jit
def fused_scale_shift_kernel(x_ptr, scale_ptr, shift_ptr, y_ptr, n, n_columns, BLOCK: tl.constexpr):
    index = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    real = index < n
    which = index % n_columns
    value = tl.load(x_ptr + index, mask=real) * tl.load(scale_ptr + which)
    value = tl.cast(value + tl.load(shift_ptr + which), tl.float16)
    tl.store(y_ptr + index, value.to(tl.float32), mask=real)
