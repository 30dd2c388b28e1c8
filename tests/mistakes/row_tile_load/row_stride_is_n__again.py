"""Takes rows to lie N elements apart.

The same mistake, written another way.
"""

import triton
import triton.language as tl


@triton.jit
def load_row_tile(x_ptr, pid, M, N, stride_m, stride_n, BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr):
    start = x_ptr + pid * BLOCK_M * N
    row = tl.arange(0, BLOCK_M)[:, None]
    column = tl.arange(0, BLOCK_N)[None, :]
    there = (row + pid * BLOCK_M < M) & (column < N)
    return tl.load(start + row * N + column * stride_n, mask=there, other=0.0)
