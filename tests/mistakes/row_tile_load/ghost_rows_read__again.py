"""Masks columns alone: the last tile reads rows behind the matrix.

The same mistake, written another way.
"""

import triton
import triton.language as tl


@triton.jit
def load_row_tile(x_ptr, pid, M, N, stride_m, stride_n, BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr):
    first = x_ptr + pid * BLOCK_M * stride_m
    row = tl.arange(0, BLOCK_M)[:, None]
    column = tl.arange(0, BLOCK_N)[None, :]
    there = (row >= 0) & (column < N)
    return tl.load(first + row * stride_m + column * stride_n, mask=there, other=0.0)
