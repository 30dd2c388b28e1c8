"""Takes program_id(0) to count along N, and program_id(1) along M.

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
    column_tile, row_tile = tl.program_id(0), tl.program_id(1)
    i = row_tile * BLOCK_M + tl.arange(0, BLOCK_M)[:, None]
    j = column_tile * BLOCK_N + tl.arange(0, BLOCK_N)[None, :]
    there = (i < M) & (j < N)
    value = tl.load(x_ptr + i * stride_xm + j * stride_xn, mask=there)
    tl.store(y_ptr + i * stride_ym + j * stride_yn, value, mask=there)
