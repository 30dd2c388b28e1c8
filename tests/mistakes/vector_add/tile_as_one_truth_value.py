"""Asks a whole block with `if` whether it lies inside."""

import triton
import triton.language as tl


@triton.jit
def vector_add_kernel(a_ptr, b_ptr, c_ptr, n, BLOCK: tl.constexpr):
    offs = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    if offs < n:
        a = tl.load(a_ptr + offs)
        b = tl.load(b_ptr + offs)
        tl.store(c_ptr + offs, a + b)
