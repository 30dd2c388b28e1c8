"""Masks with < n - 1: the last element is never added.

The same mistake, written another way.
"""

import triton
import triton.language as tl


@triton.jit
def vector_add_kernel(a_ptr, b_ptr, c_ptr, n, BLOCK: tl.constexpr):
    last = n - 1
    index = tl.arange(0, BLOCK) + BLOCK * tl.program_id(0)
    keep = last > index
    left = tl.load(a_ptr + index, mask=keep, other=0.0)
    right = tl.load(b_ptr + index, mask=keep, other=0.0)
    tl.store(c_ptr + index, right + left, mask=keep)
