"""Transposes the tile, the places and the mask together."""

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
    i = tl.program_id(0) * BLOCK_M + tl.arange(0, BLOCK_M)
    j = tl.program_id(1) * BLOCK_N + tl.arange(0, BLOCK_N)
    exists = (i[:, None] < M) & (j[None, :] < N)
    tile = tl.load(x_ptr + i[:, None] * stride_xm + j[None, :] * stride_xn, mask=exists)
    target = y_ptr + j[:, None] * stride_yn + i[None, :] * stride_ym
    tl.store(target, tl.trans(tile), mask=tl.trans(exists))
