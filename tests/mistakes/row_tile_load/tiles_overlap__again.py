"""Adds pid itself, not times BLOCK_M: tiles begin one row apart.

The same mistake, written another way.
"""

import triton
import triton.language as tl


@triton.jit
def load_row_tile(x_ptr, pid, M, N, stride_m, stride_n, BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr):
    x_ptr += pid * stride_m
    row = tl.arange(0, BLOCK_M)[:, None]
    column = tl.arange(0, BLOCK_N)[None, :]
    there = (row < M - pid) & (column < N)
    return tl.load(x_ptr + row * stride_m + column * stride_n, mask=there, other=0.0)
