"""Takes the full steps without a mask along K, and the rest after the loop."""

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
    row = tl.program_id(0) * BLOCK_M + tl.arange(0, BLOCK_M)[:, None]
    column = tl.program_id(1) * BLOCK_N + tl.arange(0, BLOCK_N)[None, :]
    term = tl.arange(0, BLOCK_K)
    total = tl.zeros((BLOCK_M, BLOCK_N), tl.float32)
    full = K // BLOCK_K * BLOCK_K
    for first in range(0, full, BLOCK_K):
        a = tl.load(a_ptr + row * K + first + term[None, :], mask=row < M, other=0.0)
        b = tl.load(b_ptr + (first + term)[:, None] * N + column, mask=column < N, other=0.0)
        total = tl.dot(a, b, total, input_precision="ieee")
    if full < K:
        rest = full + term
        a = tl.load(a_ptr + row * K + rest[None, :], mask=(row < M) & (rest[None, :] < K), other=0.0)
        b = tl.load(b_ptr + rest[:, None] * N + column, mask=(rest[:, None] < K) & (column < N), other=0.0)
        total = tl.dot(a, b, total, input_precision="ieee")
    tl.store(c_ptr + row * N + column, total, mask=(row < M) & (column < N))
