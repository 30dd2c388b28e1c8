"""Has every program add all blocks.

The same mistake, written another way.
"""

# seen on: cpu

import triton
import triton.language as tl


@triton.jit
def vector_add_kernel(a_ptr, b_ptr, c_ptr, n, BLOCK: tl.constexpr):
    index = tl.arange(0, BLOCK)
    for _ in range(tl.num_programs(0)):
        left = tl.load(a_ptr + index, mask=index < n)
        right = tl.load(b_ptr + index, mask=index < n)
        tl.store(c_ptr + index, left + right, mask=index < n)
        index += BLOCK
