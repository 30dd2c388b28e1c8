"""Adds the program's number itself, not times BLOCK: blocks begin one element apart.

The same mistake, written another way.
"""

import triton
import triton.language as tl


@triton.jit
def vector_add_kernel(a_ptr, b_ptr, c_ptr, n, BLOCK: tl.constexpr):
    start = tl.program_id(0)
    lane = tl.arange(0, BLOCK)
    inside = lane < n - start
    total = tl.load(b_ptr + start + lane, mask=inside) + tl.load(a_ptr + start + lane, mask=inside)
    tl.store(c_ptr + start + lane, total, mask=inside)
