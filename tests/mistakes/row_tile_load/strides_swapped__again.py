"""Multiplies rows by stride_n and columns by stride_m.

The same mistake, written another way.
"""

import triton
import triton.language as tl


@triton.jit
def load_row_tile(x_ptr, pid, M, N, stride_m, stride_n, BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr):
    down, across = stride_n, stride_m
    row = pid * BLOCK_M + tl.arange(0, BLOCK_M)[:, None]
    column = tl.arange(0, BLOCK_N)[None, :]
    there = (row < M) & (column < N)
    return tl.load(x_ptr + column * across + row * down, mask=there, other=0.0)
