"""Masks the store with the limits of y's shape (N, M) in the order of i and j.

The same mistake, written another way.
"""

import triton
import triton.language as tl


@triton.jit
def strided_copy_kernel(
    x_ptr,
    y_ptr,
    M,
    N,
    stride_xm,
    stride_xn,
    stride_yn,
    stride_ym,
    BLOCK_M: tl.constexpr,
    BLOCK_N: tl.constexpr,
):
    i = (tl.program_id(0) * BLOCK_M + tl.arange(0, BLOCK_M))[:, None]
    j = (tl.program_id(1) * BLOCK_N + tl.arange(0, BLOCK_N))[None, :]
    source = x_ptr + (i * stride_xm + j * stride_xn)
    moved = tl.load(source, mask=(j < N) & (i < M))
    tl.store(y_ptr + (j * stride_yn + i * stride_ym), moved, mask=(j < M) & (i < N))
