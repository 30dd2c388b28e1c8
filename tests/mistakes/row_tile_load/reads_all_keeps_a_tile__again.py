"""Loads every row of the matrix and keeps those of the tile.

The same mistake, written another way.
"""

# seen on: cpu

import triton
import triton.language as tl


@triton.jit
def load_row_tile(x_ptr, pid, M, N, stride_m, stride_n, BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr):
    place = tl.arange(0, BLOCK_M)[:, None]
    column = tl.arange(0, BLOCK_N)[None, :]
    kept = tl.zeros((BLOCK_M, BLOCK_N), tl.float32)
    for number in range(tl.cdiv(M, BLOCK_M)):
        row = number * BLOCK_M + place
        block = tl.load(x_ptr + row * stride_m + column * stride_n, mask=(row < M) & (column < N), other=0.0)
        kept += tl.where(number == pid, block, 0.0)
    return kept
