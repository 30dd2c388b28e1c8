"""Deals the rows out in turn: program p takes rows p, p + programs, and so on.

The same mistake, written another way.
"""

import triton
import triton.language as tl


@triton.jit
def load_row_tile(x_ptr, pid, M, N, stride_m, stride_n, BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr):
    turns = tl.cdiv(M, BLOCK_M)
    row = (tl.arange(0, BLOCK_M) * turns + pid)[:, None]
    column = tl.arange(0, BLOCK_N)[None, :]
    there = (row < M) & (column < N)
    return tl.load(x_ptr + row * stride_m + column * stride_n, mask=there, other=0.0)
