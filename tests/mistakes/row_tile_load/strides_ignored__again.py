"""Reads a contiguous (M, N) matrix, whatever the strides say.

The same mistake, written another way.
"""

import triton
import triton.language as tl


@triton.jit
def load_row_tile(x_ptr, pid, M, N, stride_m, stride_n, BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr):
    row = pid * BLOCK_M + tl.arange(0, BLOCK_M)[:, None]
    column = tl.arange(0, BLOCK_N)[None, :]
    flat = row * N + column
    return tl.load(x_ptr + flat, mask=(column < N) & (flat < M * N), other=0.0)
