"""Begins the running sum in float16 and adds float32 products to it.

The same mistake, written another way.
"""

# seen on: cuda

import triton
import triton.language as tl


@triton.jit
def tile_of(matrix, row, column, rows, columns):
    inside = (row < rows)[:, None] & (column < columns)[None, :]
    return tl.load(matrix + (row * columns)[:, None] + column[None, :], mask=inside, other=0.0)


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
    total = tl.zeros((BLOCK_M, BLOCK_N), tl.float16)
    for step in range(tl.cdiv(K, BLOCK_K)):
        term = step * BLOCK_K + tl.arange(0, BLOCK_K)
        left = tile_of(a_ptr, row, term, M, K)
        right = tile_of(b_ptr, term, column, K, N)
        total = total + tl.dot(left, right)
    tl.store(c_ptr + (row * N)[:, None] + column[None, :], total, mask=(row < M)[:, None] & (column < N)[None, :])
