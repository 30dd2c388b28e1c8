"""Masks rows with <= M.

The same mistake, written another way.
"""

import triton
import triton.language as tl


@triton.jit
def load_row_tile(x_ptr, pid, M, N, stride_m, stride_n, BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr):
    row = tl.arange(0, BLOCK_M)[:, None]
    column = tl.arange(0, BLOCK_N)[None, :]
    left = M - pid * BLOCK_M
    there = (row < left + 1) & (column < N)
    place = (pid * BLOCK_M + row) * stride_m + column * stride_n
    return tl.load(x_ptr + place, mask=there, other=0.0)
