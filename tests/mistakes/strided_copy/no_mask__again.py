"""Copies whole tiles, beyond the matrix.

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
    x_ptr += tl.program_id(0) * BLOCK_M * stride_xm + tl.program_id(1) * BLOCK_N * stride_xn
    y_ptr += tl.program_id(0) * BLOCK_M * stride_ym + tl.program_id(1) * BLOCK_N * stride_yn
    i = tl.arange(0, BLOCK_M)[:, None]
    j = tl.arange(0, BLOCK_N)[None, :]
    tl.store(y_ptr + j * stride_yn + i * stride_ym, tl.load(x_ptr + j * stride_xn + i * stride_xm))
