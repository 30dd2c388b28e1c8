"""Has every program compute all tiles of c.

The same mistake, written another way.
"""

# seen on: cpu

import triton
import triton.language as tl


@triton.jit
def half_matmul_kernel(
    a_ptr,
    b_ptr,
    c_ptr,
    M,
    N,
    K,
    BLOCK_M: tl.constexpr,
    BLOCK_N: tl.constexpr,
    BLOCK_K: tl.constexpr,
):
    for tile in range(tl.num_programs(0) * tl.num_programs(1)):
        i = tile // tl.num_programs(1) * BLOCK_M + tl.arange(0, BLOCK_M)
        j = tile % tl.num_programs(1) * BLOCK_N + tl.arange(0, BLOCK_N)
        acc = tl.zeros((BLOCK_M, BLOCK_N), tl.float32)
        for start_k in range(0, K, BLOCK_K):
            k = start_k + tl.arange(0, BLOCK_K)
            a = tl.load(a_ptr + i[:, None] * K + k[None, :], mask=(i[:, None] < M) & (k[None, :] < K), other=0.0)
            b = tl.load(b_ptr + k[:, None] * N + j[None, :], mask=(k[:, None] < K) & (j[None, :] < N), other=0.0)
            acc = tl.dot(a, b, acc)
        tl.store(c_ptr + i[:, None] * N + j[None, :], acc, mask=(i[:, None] < M) & (j[None, :] < N))
