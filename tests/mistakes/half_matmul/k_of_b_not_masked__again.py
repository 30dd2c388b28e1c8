"""Masks K in a and not in b.

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
    row = tl.program_id(0) * BLOCK_M + tl.arange(0, BLOCK_M)[:, None]
    column = tl.program_id(1) * BLOCK_N + tl.arange(0, BLOCK_N)[None, :]
    term = tl.arange(0, BLOCK_K)
    a_ptrs = a_ptr + row * K + term[None, :]
    b_ptrs = b_ptr + term[:, None] * N + column
    total = tl.zeros((BLOCK_M, BLOCK_N), tl.float32)
    left_over = K
    while left_over > 0:
        left = tl.load(a_ptrs, mask=(row < M) & (term[None, :] < left_over), other=0.0)
        right = tl.load(b_ptrs, mask=(column < N), other=0.0)
        total = total + tl.dot(left, right)
        a_ptrs += BLOCK_K
        b_ptrs += BLOCK_K * N
        left_over -= BLOCK_K
    tl.store(c_ptr + row * N + column, total, mask=(row < M) & (column < N))
