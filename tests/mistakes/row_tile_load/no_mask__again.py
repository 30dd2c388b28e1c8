"""Loads the whole tile, ghosts and all.

The same mistake, written another way.
"""

import triton
import triton.language as tl


@triton.jit
def load_row_tile(x_ptr, pid, M, N, stride_m, stride_n, BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr):
    x_ptr += pid * BLOCK_M * stride_m
    down = tl.arange(0, BLOCK_M) * stride_m
    across = tl.arange(0, BLOCK_N) * stride_n
    return tl.load(x_ptr + (down[:, None] + across[None, :]))
