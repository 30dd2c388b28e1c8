"""Takes an element's place in its block for its column, with a mask at the last column."""

import triton
import triton.language as tl


@triton.jit
def fused_scale_shift_kernel(x_ptr, scale_ptr, shift_ptr, y_ptr, n, n_columns, BLOCK: tl.constexpr):
    offs = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    column = tl.arange(0, BLOCK)
    mask = offs < n
    x = tl.load(x_ptr + offs, mask=mask)
    scale = tl.load(scale_ptr + column, mask=column < n_columns)
    shift = tl.load(shift_ptr + column, mask=column < n_columns)
    tl.store(y_ptr + offs, x * scale + shift, mask=mask)
