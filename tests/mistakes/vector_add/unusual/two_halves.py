"""Does its block in two halves, in a helper."""

import triton
import triton.language as tl


@triton.jit
def add_at(a_ptr, b_ptr, c_ptr, offs, n):
    """c = a + b at the indices ``offs`` below n."""
    a = tl.load(a_ptr + offs, mask=offs < n)
    b = tl.load(b_ptr + offs, mask=offs < n)
    tl.store(c_ptr + offs, a + b, mask=offs < n)


@triton.jit
def vector_add_kernel(a_ptr, b_ptr, c_ptr, n, BLOCK: tl.constexpr):
    half: tl.constexpr = BLOCK // 2
    for part in tl.static_range(2):
        add_at(a_ptr, b_ptr, c_ptr, tl.program_id(0) * BLOCK + part * half + tl.arange(0, half), n)
