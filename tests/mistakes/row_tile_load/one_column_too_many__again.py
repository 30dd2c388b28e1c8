"""Masks columns with <= N.

The same mistake, written another way.
"""

import triton
import triton.language as tl


@triton.jit
def load_row_tile(x_ptr, pid, M, N, stride_m, stride_n, BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr):
    row = pid * BLOCK_M + tl.arange(0, BLOCK_M)
    column = tl.arange(0, BLOCK_N)
    beyond = (row[:, None] >= M) | (column[None, :] > N)
    tile = tl.load(x_ptr + row[:, None] * stride_m + column[None, :] * stride_n, mask=~beyond, other=0.0)
    return tile
