"""Leaves the program's number out: every program adds the first block.

The same mistake, written another way.
"""

import triton
import triton.language as tl


@triton.jit
def vector_add_kernel(a_ptr, b_ptr, c_ptr, n, BLOCK: tl.constexpr):
    pid = tl.program_id(1)
    index = pid * BLOCK + tl.arange(0, BLOCK)
    real = index < n
    total = tl.load(a_ptr + index, mask=real) + tl.load(b_ptr + index, mask=real)
    tl.store(c_ptr + index, total, mask=real)
