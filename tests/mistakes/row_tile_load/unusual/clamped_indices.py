"""Ghosts load the nearest real element, and are set to 0 afterwards."""

import triton
import triton.language as tl


@triton.jit
def load_row_tile(x_ptr, pid, M, N, stride_m, stride_n, BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr):
    row = pid * BLOCK_M + tl.arange(0, BLOCK_M)[:, None]
    column = tl.arange(0, BLOCK_N)[None, :]
    tile = tl.load(x_ptr + tl.minimum(row, M - 1) * stride_m + tl.minimum(column, N - 1) * stride_n)
    return tl.where((row < M) & (column < N), tile, 0.0)
