"""Moves both pointers to the tile, and counts what is left from there."""

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
    first_j = tl.program_id(1) * BLOCK_N
    x_ptr += first_i * stride_xm + first_j * stride_xn
    y_ptr += first_i * stride_ym + first_j * stride_yn
    i = tl.arange(0, BLOCK_M)[:, None]
    j = tl.arange(0, BLOCK_N)[None, :]
    exists = (i < M - first_i) & (j < N - first_j)
    tile = tl.load(x_ptr + i * stride_xm + j * stride_xn, mask=exists, other=0)
    tl.store(y_ptr + i * stride_ym + j * stride_yn, tile, mask=exists)
