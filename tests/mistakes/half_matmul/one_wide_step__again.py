"""Takes all of K in one step, with a tile that is as wide as any K here.

The same mistake, written another way.
"""

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
    WIDE: tl.constexpr = 512
    row = (tl.program_id(0) * BLOCK_M + tl.arange(0, BLOCK_M))[:, None]
    column = (tl.program_id(1) * BLOCK_N + tl.arange(0, BLOCK_N))[None, :]
    term = tl.arange(0, WIDE)
    left = tl.load(a_ptr + row * K + term[None, :], mask=(row < M) & (term[None, :] < K), other=0.0)
    right = tl.load(b_ptr + term[:, None] * N + column, mask=(term[:, None] < K) & (column < N), other=0.0)
    total = tl.zeros((BLOCK_M, BLOCK_N), tl.float32)
    total = tl.dot(left, right, total)
    tl.store(c_ptr + row * N + column, total, mask=(row < M) & (column < N))
