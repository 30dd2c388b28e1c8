"""Divides the sum of the parts by their number.

The same mistake, written another way.
"""

import triton
import triton.language as tl


@triton.jit
def gemv_reduce_kernel(partial_ptr, y_ptr, N, SPLITS, BLOCK_N: tl.constexpr):
    n = tl.arange(0, BLOCK_N) + BLOCK_N * tl.program_id(0)
    there = n < N
    result = tl.load(partial_ptr + n, mask=there, other=0.0)
    place = partial_ptr + n
    for part in range(1, SPLITS):
        place += N
        result = result + tl.load(place, mask=there, other=0.0)
    tl.store(y_ptr + n, result * (1.0 / SPLITS), mask=there)
