"""Moves the pointer to the tile's first row, and counts the rows that are left."""

import triton
import triton.language as tl


@triton.jit
def load_row_tile(x_ptr, pid, M, N, stride_m, stride_n, BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr):
    x_ptr += pid * BLOCK_M * stride_m
    left = M - pid * BLOCK_M
    row = tl.arange(0, BLOCK_M)[:, None]
    column = tl.arange(0, BLOCK_N)[None, :]
    return tl.load(x_ptr + row * stride_m + column * stride_n, mask=(row < left) & (column < N), other=0.0)
