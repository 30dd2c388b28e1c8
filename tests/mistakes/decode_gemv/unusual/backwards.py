"""Walks over columns and splits from the last to the first."""

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
    row = (tl.program_id(0) * BLOCK_N + tl.arange(0, BLOCK_N))[:, None]
    first = tl.program_id(1) * CHUNK
    products = tl.zeros((BLOCK_N, BLOCK_K), tl.float32)
    column = (tl.minimum(first + CHUNK, K) - 1 - tl.arange(0, BLOCK_K))[None, :]
    left = tl.cdiv(CHUNK, BLOCK_K)
    while left > 0:
        x = tl.load(x_ptr + column, mask=column >= first, other=0.0)
        products += x * tl.load(w_ptr + row * K + column, mask=(row < N) & (column >= first), other=0.0)
        column -= BLOCK_K
        left -= 1
    tl.store(partial_ptr + tl.program_id(1) * N + row, tl.sum(products, 1)[:, None], mask=row < N)


@triton.jit
def gemv_reduce_kernel(partial_ptr, y_ptr, N, SPLITS, BLOCK_N: tl.constexpr):
    row = tl.program_id(0) * BLOCK_N + tl.arange(0, BLOCK_N)
    total = tl.zeros((BLOCK_N,), tl.float32)
    for split in range(SPLITS):
        total += tl.load(partial_ptr + (SPLITS - 1 - split) * N + row, mask=row < N)
    tl.store(y_ptr + row, total, mask=row < N)
