"""Masks the store and not the loads: what lies behind the end of a and b is read, and thrown away.

The same mistake, written another way.
"""

# seen on: cpu

import triton
import triton.language as tl


@triton.jit
def vector_add_kernel(a_ptr, b_ptr, c_ptr, n, BLOCK: tl.constexpr):
    first = tl.program_id(0) * BLOCK
    left = tl.load(a_ptr + first + tl.arange(0, BLOCK))
    right = tl.load(b_ptr + first + tl.arange(0, BLOCK))
    index = first + tl.arange(0, BLOCK)
    real = index < n
    tl.store(c_ptr + index, right + left, mask=real)
