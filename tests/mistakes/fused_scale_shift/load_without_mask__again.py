"""Masks the store and not the load: what lies behind the end of x is read, and thrown away.

The same mistake, written another way.
"""

# seen on: cpu

import triton
import triton.language as tl


@triton.jit
def fused_scale_shift_kernel(x_ptr, scale_ptr, shift_ptr, y_ptr, n, n_columns, BLOCK: tl.constexpr):
    start = tl.program_id(0) * BLOCK
    lane = tl.arange(0, BLOCK)
    which = (start + lane) % n_columns
    value = tl.load(x_ptr + start + lane) * tl.load(scale_ptr + which)
    value += tl.load(shift_ptr + which)
    tl.store(y_ptr + start + lane, value, mask=lane < n - start)
