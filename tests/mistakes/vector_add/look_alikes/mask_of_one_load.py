"""Masks all but one of its accesses: the load of b runs on."""

# may be called: load_without_mask

import triton
import triton.language as tl


@triton.jit
def vector_add_kernel(a_ptr, b_ptr, c_ptr, n, BLOCK: tl.constexpr):
    offs = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    a = tl.load(a_ptr + offs, mask=offs < n)
    b = tl.load(b_ptr + offs)
    tl.store(c_ptr + offs, a + b, mask=offs < n)
