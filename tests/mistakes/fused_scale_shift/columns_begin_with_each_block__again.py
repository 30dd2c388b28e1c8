"""Counts columns from the start of the block, as if every block began with a row.

The same mistake, written another way.
"""

import triton
import triton.language as tl


@triton.jit
def fused_scale_shift_kernel(x_ptr, scale_ptr, shift_ptr, y_ptr, n, n_columns, BLOCK: tl.constexpr):
    start = tl.program_id(0) * BLOCK
    x_ptr += start
    y_ptr += start
    index = tl.arange(0, BLOCK)
    real = index < n - start
    which = index - index // n_columns * n_columns
    value = tl.load(x_ptr + index, mask=real, other=0.0)
    value = value * tl.load(scale_ptr + which) + tl.load(shift_ptr + which)
    tl.store(y_ptr + index, value, mask=real)
