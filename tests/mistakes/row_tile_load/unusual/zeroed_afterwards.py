"""Masks without `other`, and sets the ghosts to 0 afterwards."""

import triton
import triton.language as tl


@triton.jit
def load_row_tile(x_ptr, pid, M, N, stride_m, stride_n, BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr):
    offs_m = pid * BLOCK_M + tl.arange(0, BLOCK_M)
    offs_n = tl.arange(0, BLOCK_N)
    exists = (offs_m < M)[:, None] & (offs_n < N)[None, :]
    tile = tl.load(x_ptr + offs_m[:, None] * stride_m + offs_n[None, :] * stride_n, mask=exists)
    return tl.where(exists, tile, 0.0)
