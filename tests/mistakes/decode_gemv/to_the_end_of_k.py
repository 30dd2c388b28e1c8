"""Lets every split go on to the last column."""

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
    rows = tl.program_id(0) * BLOCK_N + tl.arange(0, BLOCK_N)
    split = tl.program_id(1)
    first = split * CHUNK
    last = K
    total = tl.zeros((BLOCK_N,), tl.float32)
    for start in range(first, last, BLOCK_K):
        columns = start + tl.arange(0, BLOCK_K)
        mine = columns < last
        x = tl.load(x_ptr + columns, mask=mine, other=0.0)
        w = tl.load(w_ptr + rows[:, None] * K + columns[None, :], mask=(rows[:, None] < N) & mine[None, :], other=0.0)
        total += tl.sum(w * x[None, :], 1)
    tl.store(partial_ptr + split * N + rows, total, mask=rows < N)
