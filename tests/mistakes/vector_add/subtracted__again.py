"""Subtracts the second vector.

The same mistake, written another way.
"""

import triton
import triton.language as tl


@triton.jit
def vector_add_kernel(a_ptr, b_ptr, c_ptr, n, BLOCK: tl.constexpr):
    index = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    real = index < n
    total = -tl.load(b_ptr + index, mask=real)
    total += tl.load(a_ptr + index, mask=real)
    tl.store(c_ptr + index, total, mask=real)
