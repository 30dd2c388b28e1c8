"""Compares the place within the block with n: only the first block's mask is right.

The same mistake, written another way.
"""

import triton
import triton.language as tl


@triton.jit
def vector_add_kernel(a_ptr, b_ptr, c_ptr, n, BLOCK: tl.constexpr):
    start = tl.program_id(0) * BLOCK
    a_ptr += start
    b_ptr += start
    c_ptr += start
    lane = tl.arange(0, BLOCK)
    there = n > lane
    tl.store(c_ptr + lane, tl.load(a_ptr + lane, mask=there) + tl.load(b_ptr + lane, mask=there), mask=there)
