"""Adds the two vectors of indices as they are, without making a column of one.

The same mistake, written another way.
"""

import triton
import triton.language as tl


@triton.jit
def load_row_tile(x_ptr, pid, M, N, stride_m, stride_n, BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr):
    rows = (pid * BLOCK_M + tl.arange(0, BLOCK_M)) * stride_m
    columns = tl.arange(0, BLOCK_N) * stride_n
    tile = tl.load(x_ptr + (rows + columns))
    return tile
