"""Subtracts the smallest number of a row."""

import triton
import triton.language as tl


@triton.jit
def row_softmax_kernel(x_ptr, y_ptr, M, N, BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr):
    offs_m = tl.program_id(0) * BLOCK_M + tl.arange(0, BLOCK_M)
    offs_n = tl.arange(0, BLOCK_N)
    real = (offs_m[:, None] < M) & (offs_n[None, :] < N)
    offsets = offs_m[:, None] * N + offs_n[None, :]
    x = tl.load(x_ptr + offsets, mask=real, other=float("-inf"))
    p = tl.exp(x - tl.min(x, 1)[:, None])
    tl.store(y_ptr + offsets, p / tl.sum(p, 1)[:, None], mask=real)
