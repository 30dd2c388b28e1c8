"""Adds its elements one at a time, in a loop."""

import triton
import triton.language as tl


@triton.jit
def vector_add_kernel(a_ptr, b_ptr, c_ptr, n, BLOCK: tl.constexpr):
    start = tl.program_id(0) * BLOCK
    for index in range(start, tl.minimum(start + BLOCK, n)):
        tl.store(c_ptr + index, tl.load(a_ptr + index) + tl.load(b_ptr + index))
