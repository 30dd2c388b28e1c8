"""Overwrites the sum in the loop instead of adding to it.

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
    n = (tl.program_id(0) * BLOCK_N + tl.arange(0, BLOCK_N))[:, None]
    part = tl.program_id(1)
    stop = tl.minimum(K, (part + 1) * CHUNK)
    sums = tl.zeros((BLOCK_N, BLOCK_K), tl.float32)
    for step in range(tl.cdiv(CHUNK, BLOCK_K)):
        k = (part * CHUNK + step * BLOCK_K + tl.arange(0, BLOCK_K))[None, :]
        inside = k < stop
        vector = tl.load(x_ptr + k, mask=inside, other=0.0)
        weights = tl.load(w_ptr + n * K + k, mask=inside & (n < N), other=0.0)
        sums = weights * vector
    row = tl.sum(sums, axis=1, keep_dims=True)
    tl.store(partial_ptr + part * N + n, row, mask=n < N)
