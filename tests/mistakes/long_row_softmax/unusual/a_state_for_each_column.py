"""Keeps a maximum and a sum for each place of the chunk, and joins them after the first loop."""

import triton
import triton.language as tl


@triton.jit
def long_row_softmax_kernel(x_ptr, y_ptr, M, N, BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr):
    row = tl.program_id(0) * BLOCK_M + tl.arange(0, BLOCK_M)
    top = tl.full((BLOCK_M, BLOCK_N), float("-inf"), tl.float32)
    total = tl.zeros((BLOCK_M, BLOCK_N), tl.float32)
    for first in range(0, N, BLOCK_N):
        column = first + tl.arange(0, BLOCK_N)
        inside = (row < M)[:, None] & (column < N)[None, :]
        x = tl.load(x_ptr + row[:, None] * N + column[None, :], mask=inside, other=float("-inf"))
        higher = tl.maximum(top, x)
        level = tl.where(higher == float("-inf"), 0.0, higher)
        total = total * tl.exp(top - level) + tl.exp(x - level)
        top = higher
    m = tl.max(top, 1)
    l = tl.sum(total * tl.exp(top - m[:, None]), 1)
    for first in range(0, N, BLOCK_N):
        column = first + tl.arange(0, BLOCK_N)
        inside = (row < M)[:, None] & (column < N)[None, :]
        x = tl.load(x_ptr + row[:, None] * N + column[None, :], mask=inside, other=float("-inf"))
        tl.store(y_ptr + row[:, None] * N + column[None, :], tl.exp(x - m[:, None]) / l[:, None], mask=inside)
