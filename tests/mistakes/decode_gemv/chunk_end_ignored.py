"""Stops at K only: the last tile of a split takes in columns of the next one."""

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
    last = tl.minimum(first + CHUNK, K)
    acc = tl.zeros((BLOCK_N,), tl.float32)
    for start in range(first, last, BLOCK_K):
        columns = start + tl.arange(0, BLOCK_K)
        mask = (rows[:, None] < N) & (columns[None, :] < K)
        w = tl.load(w_ptr + rows[:, None] * K + columns[None, :], mask=mask, other=0.0)
        x = tl.load(x_ptr + columns, mask=columns < K, other=0.0)
        acc += tl.sum(w * x[None, :], 1)
    tl.store(partial_ptr + split * N + rows, acc, mask=rows < N)
