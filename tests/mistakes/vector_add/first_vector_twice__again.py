"""Loads a both times: the sum is a + a.

The same mistake, written another way.
"""

import triton
import triton.language as tl


@triton.jit
def vector_add_kernel(a_ptr, b_ptr, c_ptr, n, BLOCK: tl.constexpr):
    index = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    real = index < n
    total = tl.load(a_ptr + index, mask=real)
    addend = tl.load(b_ptr + index, mask=real)
    total += total
    tl.store(c_ptr + index, total, mask=real)
