"""Takes columns to lie side by side: stride_n is not used.

The same mistake, written another way.
"""

import triton
import triton.language as tl


@triton.jit
def load_row_tile(x_ptr, pid, M, N, stride_m, stride_n, BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr):
    row = pid * BLOCK_M + tl.arange(0, BLOCK_M)
    column = tl.arange(0, BLOCK_N)
    rows = x_ptr + row * stride_m
    return tl.load(rows[:, None] + column[None, :], mask=(row < M)[:, None] & (column < N)[None, :], other=0.0)
