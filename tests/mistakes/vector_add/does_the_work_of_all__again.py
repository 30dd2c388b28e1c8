"""The first program adds all blocks, and the others nothing."""

# seen on: cpu

import triton
import triton.language as tl


@triton.jit
def vector_add_kernel(a_ptr, b_ptr, c_ptr, n, BLOCK: tl.constexpr):
    if tl.program_id(0) == 0:
        for block in range(tl.cdiv(n, BLOCK)):
            which = block * BLOCK + tl.arange(0, BLOCK)
            real = which < n
            total = tl.load(a_ptr + which, mask=real) + tl.load(b_ptr + which, mask=real)
            tl.store(c_ptr + which, total, mask=real)
