"""Makes the block as long as the vector, with tl.arange(0, n).

The same mistake, written another way.
"""

import triton
import triton.language as tl


@triton.jit
def vector_add_kernel(a_ptr, b_ptr, c_ptr, n, BLOCK: tl.constexpr):
    start = tl.program_id(0) * BLOCK
    index = start + tl.arange(0, min(BLOCK, n - start))
    total = tl.load(a_ptr + index) + tl.load(b_ptr + index)
    tl.store(c_ptr + index, total)
