"""Takes an element's place in its block for its column, with a mask at the last column.

The same mistake, written another way.
"""

import triton
import triton.language as tl


@triton.jit
def of_columns(vector_ptr, n_columns, BLOCK: tl.constexpr):
    place = tl.arange(0, BLOCK)
    return tl.load(vector_ptr + place, mask=n_columns > place)


@triton.jit
def fused_scale_shift_kernel(x_ptr, scale_ptr, shift_ptr, y_ptr, n, n_columns, BLOCK: tl.constexpr):
    first = BLOCK * tl.program_id(0)
    index = first + tl.arange(0, BLOCK)
    product = tl.load(x_ptr + index, mask=index < n) * of_columns(scale_ptr, n_columns, BLOCK)
    tl.store(y_ptr + index, product + of_columns(shift_ptr, n_columns, BLOCK), mask=index < n)
