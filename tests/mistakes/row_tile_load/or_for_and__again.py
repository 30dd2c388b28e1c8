"""Joins the two conditions with |: an element with one real index passes.

The same mistake, written another way.
"""

import triton
import triton.language as tl


@triton.jit
def load_row_tile(x_ptr, pid, M, N, stride_m, stride_n, BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr):
    row = pid * BLOCK_M + tl.arange(0, BLOCK_M)[:, None]
    column = tl.arange(0, BLOCK_N)[None, :]
    ghost = (row >= M) & (column >= N)
    return tl.load(x_ptr + column * stride_n + row * stride_m, mask=ghost == 0, other=0.0)
