"""Masks rows alone: ghost columns read what follows each row in memory.

The same mistake, written another way.
"""

import triton
import triton.language as tl


@triton.jit
def load_row_tile(x_ptr, pid, M, N, stride_m, stride_n, BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr):
    row = tl.expand_dims(pid * BLOCK_M + tl.arange(0, BLOCK_M), 1)
    column = tl.expand_dims(tl.arange(0, BLOCK_N), 0)
    there = tl.broadcast_to(M > row, (BLOCK_M, BLOCK_N))
    tile = tl.load(x_ptr + (row * stride_m + column * stride_n), mask=there, other=0.0)
    return tile
