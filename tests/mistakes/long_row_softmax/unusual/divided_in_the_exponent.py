"""Keeps a running log-sum-exp less the maximum, and divides in the exponent."""

import triton
import triton.language as tl


@triton.jit
def long_row_softmax_kernel(x_ptr, y_ptr, M, N, BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr):
    row = tl.program_id(0) * BLOCK_M + tl.arange(0, BLOCK_M)
    m = tl.full((BLOCK_M,), float("-inf"), tl.float32)
    log_l = tl.full((BLOCK_M,), float("-inf"), tl.float32)
    for first in range(0, N, BLOCK_N):
        column = first + tl.arange(0, BLOCK_N)
        inside = (row < M)[:, None] & (column < N)[None, :]
        x = tl.load(x_ptr + row[:, None] * N + column[None, :], mask=inside, other=float("-inf"))
        top = tl.maximum(m, tl.max(x, 1))
        level = tl.where(top == float("-inf"), 0.0, top)
        log_l = tl.log(tl.exp(m - level + log_l) + tl.sum(tl.exp(x - level[:, None]), 1))
        m = top
    for first in range(0, N, BLOCK_N):
        column = first + tl.arange(0, BLOCK_N)
        inside = (row < M)[:, None] & (column < N)[None, :]
        x = tl.load(x_ptr + row[:, None] * N + column[None, :], mask=inside, other=float("-inf"))
        tl.store(y_ptr + row[:, None] * N + column[None, :], tl.exp(x - m[:, None] - log_l[:, None]), mask=inside)
