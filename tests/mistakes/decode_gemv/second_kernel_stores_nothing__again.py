"""Adds up the parts and does not store the sums.

The same mistake, written another way.
"""

import triton
import triton.language as tl


@triton.jit
def gemv_reduce_kernel(partial_ptr, y_ptr, N, SPLITS, BLOCK_N: tl.constexpr):
    rows = tl.program_id(0) * BLOCK_N + tl.arange(0, BLOCK_N)
    total = tl.load(partial_ptr + rows, mask=rows < N, other=0.0)
    for split in range(1, SPLITS):
        total = total + tl.load(partial_ptr + (rows + split * N), mask=rows < N, other=0.0)
