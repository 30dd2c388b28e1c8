"""Loads the tile on its side and turns it."""

import triton
import triton.language as tl


@triton.jit
def load_row_tile(x_ptr, pid, M, N, stride_m, stride_n, BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr):
    row = pid * BLOCK_M + tl.arange(0, BLOCK_M)[None, :]
    column = tl.arange(0, BLOCK_N)[:, None]
    tile = tl.load(x_ptr + column * stride_n + row * stride_m, mask=(row < M) & (column < N), other=0.0)
    return tl.trans(tile)
