"""Writes y with the strides of x.

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
    place = stride_xm * i + stride_xn * j
    there = (i < M) & (j < N)
    tl.store(y_ptr + place, tl.load(x_ptr + place, mask=there), mask=there)
