"""Masks the ghosts and does not say what they read as.

The same mistake, written another way.
"""

import triton
import triton.language as tl


@triton.jit
def load_row_tile(x_ptr, pid, M, N, stride_m, stride_n, BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr):
    row = (pid * BLOCK_M + tl.arange(0, BLOCK_M))[:, None]
    column = tl.arange(0, BLOCK_N)[None, :]
    tile = tl.load(x_ptr + row * stride_m + column * stride_n, (row < M) & (column < N))
    return tile
