"""Loads and stores the whole last block, beyond the end of the matrix.

The same mistake, written another way.
"""

import triton
import triton.language as tl


@triton.jit
def fused_scale_shift_kernel(x_ptr, scale_ptr, shift_ptr, y_ptr, n, n_columns, BLOCK: tl.constexpr):
    start = tl.program_id(0) * BLOCK
    lane = tl.arange(0, BLOCK)
    which = (start + lane) % n_columns
    value = tl.load(x_ptr + start + lane) * tl.load(scale_ptr + which)
    tl.store(y_ptr + start + lane, value + tl.load(shift_ptr + which))
