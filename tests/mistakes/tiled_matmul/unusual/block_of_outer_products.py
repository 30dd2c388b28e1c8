"""Multiplies and adds element by element, without tl.dot."""

import triton
import triton.language as tl


@triton.jit
def tiled_matmul_kernel(
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
    total = tl.zeros((BLOCK_M, BLOCK_N), tl.float32)
    for k in range(K):
        a = tl.load(a_ptr + row * K + k, mask=row < M, other=0.0)
        b = tl.load(b_ptr + k * N + column, mask=column < N, other=0.0)
        total += a[:, None] * b[None, :]
    tl.store(c_ptr + row[:, None] * N + column[None, :], total, mask=(row < M)[:, None] & (column < N)[None, :])
