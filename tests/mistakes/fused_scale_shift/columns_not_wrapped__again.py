"""Takes scale and shift by the index in the whole matrix, and runs past their end.

The same mistake, written another way.
"""

import triton
import triton.language as tl


@triton.jit
def fused_scale_shift_kernel(x_ptr, scale_ptr, shift_ptr, y_ptr, n, n_columns, BLOCK: tl.constexpr):
    start = tl.program_id(0) * BLOCK
    lane = tl.arange(0, BLOCK)
    there = lane < n - start
    y = tl.load(x_ptr + start + lane, mask=there)
    y *= tl.load(scale_ptr + start + lane, mask=there)
    y += tl.load(shift_ptr + start + lane, mask=there)
    tl.store(y_ptr + start + lane, y, mask=there)
