"""Moves the pointers to the start of the block, and counts what is left of the vector from there."""

import triton
import triton.language as tl


@triton.jit
def vector_add_kernel(a_ptr, b_ptr, c_ptr, n, BLOCK: tl.constexpr):
    start = tl.program_id(0) * BLOCK
    lane = tl.arange(0, BLOCK)
    left = n - start
    a = tl.load(a_ptr + start + lane, mask=lane < left, other=0.0)
    b = tl.load(b_ptr + start + lane, mask=lane < left, other=0.0)
    c_ptr += start
    tl.store(c_ptr + lane, a + b, mask=lane < left)
