"""Loads every row of the matrix and keeps those of the tile."""

# seen on: cpu

import triton
import triton.language as tl


@triton.jit
def load_row_tile(x_ptr, pid, M, N, stride_m, stride_n, BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr):
    offs_m = pid * BLOCK_M + tl.arange(0, BLOCK_M)
    offs_n = tl.arange(0, BLOCK_N)
    tile = tl.zeros((BLOCK_M, BLOCK_N), tl.float32)
    for row in range(M):
        line = tl.load(x_ptr + row * stride_m + offs_n * stride_n, mask=offs_n < N, other=0.0)
        tile = tl.where((offs_m == row)[:, None], line[None, :], tile)
    return tile
