"""Loads and stores the whole last block, beyond the end of the vectors.

The same mistake, written another way.
"""

import triton
import triton.language as tl


@triton.jit
def vector_add_kernel(a_ptr, b_ptr, c_ptr, n, BLOCK: tl.constexpr):
    start = tl.program_id(axis=0) * BLOCK
    lanes = tl.arange(0, BLOCK)
    total = tl.load(a_ptr + start + lanes) + tl.load(b_ptr + start + lanes)
    tl.store(c_ptr + start + lanes, total)
