"""Multiplies pid by BLOCK_N: tiles begin as far apart as they are wide.

The same mistake, written another way.
"""

import triton
import triton.language as tl


@triton.jit
def load_row_tile(x_ptr, pid, M, N, stride_m, stride_n, BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr):
    first = pid * BLOCK_N
    row = tl.arange(0, BLOCK_M)[:, None]
    column = tl.arange(0, BLOCK_N)[None, :]
    there = (row < M - first) & (column < N)
    return tl.load(x_ptr + (first + row) * stride_m + column * stride_n, mask=there, other=0.0)
