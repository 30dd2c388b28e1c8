"""Masks the load and not the store: the last block writes behind the end of y.

The same mistake, written another way.
"""

import triton
import triton.language as tl


@triton.jit
def fused_scale_shift_kernel(x_ptr, scale_ptr, shift_ptr, y_ptr, n, n_columns, BLOCK: tl.constexpr):
    index = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    which = index % n_columns
    value = tl.load(x_ptr + index, mask=n > index, other=0.0)
    value = value * tl.load(scale_ptr + which) + tl.load(shift_ptr + which)
    out = y_ptr + index
    tl.store(out, value)
