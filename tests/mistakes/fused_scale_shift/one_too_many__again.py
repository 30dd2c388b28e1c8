"""Masks with <= n: the element behind the last one is taken along.

The same mistake, written another way.
"""

import triton
import triton.language as tl


@triton.jit
def fused_scale_shift_kernel(x_ptr, scale_ptr, shift_ptr, y_ptr, n, n_columns, BLOCK: tl.constexpr):
    index = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    ghost = index > n
    which = index % n_columns
    value = tl.load(x_ptr + index, mask=~ghost, other=0.0) * tl.load(scale_ptr + which)
    tl.store(y_ptr + index, value + tl.load(shift_ptr + which), mask=~ghost)
