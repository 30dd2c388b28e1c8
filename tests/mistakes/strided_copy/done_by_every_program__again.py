"""Has every program copy all tiles.

The same mistake, written another way.
"""

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
    row = tl.arange(0, BLOCK_M)
    column = tl.arange(0, BLOCK_N)
    for number in range(tl.num_programs(0) * tl.num_programs(1)):
        i = (number // tl.num_programs(1) * BLOCK_M + row)[:, None]
        j = (number % tl.num_programs(1) * BLOCK_N + column)[None, :]
        there = (j < N) & (i < M)
        moved = tl.load(x_ptr + (i * stride_xm + j * stride_xn), mask=there)
        tl.store(y_ptr + (j * stride_yn + i * stride_ym), moved, mask=there)
