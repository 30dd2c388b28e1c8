"""Counts the indices in bytes, so that a block takes every fourth element.

The same mistake, written another way.
"""

import triton
import triton.language as tl


@triton.jit
def vector_add_kernel(a_ptr, b_ptr, c_ptr, n, BLOCK: tl.constexpr):
    first = tl.program_id(0) * BLOCK * 4
    index = first + tl.arange(0, BLOCK) * 4
    total = tl.load(b_ptr + index, mask=n > index)
    total += tl.load(a_ptr + index, mask=n > index)
    tl.store(c_ptr + index, total, mask=n > index)
