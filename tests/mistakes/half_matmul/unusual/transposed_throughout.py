"""Computes the transpose of the tile, from K's end to its beginning."""

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
    row = tl.program_id(0) * BLOCK_M + tl.arange(0, BLOCK_M)
    column = tl.program_id(1) * BLOCK_N + tl.arange(0, BLOCK_N)
    total = tl.zeros((BLOCK_N, BLOCK_M), tl.float32)
    steps = tl.cdiv(K, BLOCK_K)
    for step in range(steps):
        term = (steps - 1 - step) * BLOCK_K + tl.arange(0, BLOCK_K)
        a = tl.load(a_ptr + row[None, :] * K + term[:, None], mask=(row < M)[None, :] & (term < K)[:, None], other=0.0)
        b = tl.load(
            b_ptr + term[:, None] * N + column[None, :], mask=(term < K)[:, None] & (column < N)[None, :], other=0.0
        )
        total += tl.dot(tl.trans(b), a)
    tl.store(c_ptr + row[None, :] * N + column[:, None], total, mask=(row < M)[None, :] & (column < N)[:, None])
