"""Asks a whole block with `if` whether it lies inside.

The same mistake, written another way.
"""

import triton
import triton.language as tl


@triton.jit
def vector_add_kernel(a_ptr, b_ptr, c_ptr, n, BLOCK: tl.constexpr):
    index = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    inside = (index >= 0) and (index < n)
    total = tl.load(a_ptr + index, mask=inside) + tl.load(b_ptr + index, mask=inside)
    tl.store(c_ptr + index, total, mask=inside)
