"""Multiplies the offsets by the 4 bytes of a float32; pointers count elements already."""

import triton
import triton.language as tl


@triton.jit
def vector_add_kernel(a_ptr, b_ptr, c_ptr, n, BLOCK: tl.constexpr):
    offs = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = offs < n
    a = tl.load(a_ptr + offs * 4, mask=mask)
    b = tl.load(b_ptr + offs * 4, mask=mask)
    tl.store(c_ptr + offs * 4, a + b, mask=mask)
