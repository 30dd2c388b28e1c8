"""Multiplies the offsets by the 4 bytes of a float32; pointers count elements already.

The same mistake, written another way.
"""

import triton
import triton.language as tl


@triton.jit
def vector_add_kernel(a_ptr, b_ptr, c_ptr, n, BLOCK: tl.constexpr):
    SIZE: tl.constexpr = 4
    start = tl.program_id(0) * BLOCK * SIZE
    lane = tl.arange(0, BLOCK) * SIZE
    inside = start + lane < n * SIZE
    total = tl.load(a_ptr + (start + lane), mask=inside) + tl.load(b_ptr + (start + lane), mask=inside)
    tl.store(c_ptr + (start + lane), total, mask=inside)
