"""Begins at column 0 in every split.

The same mistake, written another way.
"""

import triton
import triton.language as tl


@triton.jit
def gemv_split_kernel(
    x_ptr,
    w_ptr,
    partial_ptr,
    N,
    K,
    CHUNK,
    BLOCK_N: tl.constexpr,
    BLOCK_K: tl.constexpr,
):
    part = tl.program_id(1)
    row = BLOCK_N * tl.program_id(0) + tl.arange(0, BLOCK_N)
    begins = part * CHUNK
    ends = min(K, begins + CHUNK)
    sums = tl.zeros((BLOCK_N,), tl.float32)
    for tile in range(tl.cdiv(CHUNK, BLOCK_K)):
        k = 0 + tile * BLOCK_K + tl.arange(0, BLOCK_K)
        left = tl.load(x_ptr + k, mask=k < ends, other=0.0)
        right = tl.load(
            w_ptr + (row * K)[:, None] + k[None, :], mask=(row < N)[:, None] & (k < ends)[None, :], other=0.0
        )
        sums = sums + tl.sum(right * left[None, :], axis=1)
    tl.store(partial_ptr + part * N + row, sums, mask=row < N)
