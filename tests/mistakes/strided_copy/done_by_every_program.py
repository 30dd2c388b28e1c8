"""Has every program copy all tiles."""

# seen on: cpu

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
    for first_m in range(0, M, BLOCK_M):
        for first_n in range(0, N, BLOCK_N):
            i = first_m + tl.arange(0, BLOCK_M)[:, None]
            j = first_n + tl.arange(0, BLOCK_N)[None, :]
            exists = (i < M) & (j < N)
            tile = tl.load(x_ptr + i * stride_xm + j * stride_xn, mask=exists)
            tl.store(y_ptr + i * stride_ym + j * stride_yn, tile, mask=exists)
