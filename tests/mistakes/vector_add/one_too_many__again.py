"""Masks with <= n: the element behind the last one is taken along.

The same mistake, written another way.
"""

import triton
import triton.language as tl


@triton.jit
def vector_add_kernel(a_ptr, b_ptr, c_ptr, n, BLOCK: tl.constexpr):
    start = tl.program_id(0) * BLOCK
    lane = tl.arange(0, BLOCK)
    left = n - start
    real = lane < left + 1
    total = tl.load(a_ptr + start + lane, mask=real, other=0.0)
    total += tl.load(b_ptr + start + lane, mask=real, other=0.0)
    tl.store(c_ptr + start + lane, total, mask=real)
