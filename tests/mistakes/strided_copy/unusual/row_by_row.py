"""Copies the tile one row of x at a time."""

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
    first_i = tl.program_id(0) * BLOCK_M
    j = tl.program_id(1) * BLOCK_N + tl.arange(0, BLOCK_N)
    for i in range(first_i, tl.minimum(first_i + BLOCK_M, M)):
        row = tl.load(x_ptr + i * stride_xm + j * stride_xn, mask=j < N)
        tl.store(y_ptr + i * stride_ym + j * stride_yn, row, mask=j < N)
