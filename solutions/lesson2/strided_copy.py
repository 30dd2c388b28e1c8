"""Lesson 2: copy a matrix of any layout into its transpose, tile by tile.

A transpose moves nothing by itself: y[j, i] = x[i, j] says that the same element has its two indices the other way
round. Whoever knows where (i, j) lies in x and where (j, i) lies in y can copy it: a matter of four strides.
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
    """y[j, i] = x[i, j] for one tile of BLOCK_M rows and BLOCK_N columns of x.

    x_ptr       pointer to element (0, 0) of x (M, N), of any dtype
    y_ptr       pointer to element (0, 0) of y (N, M), of the same dtype
    stride_xm   elements of x from one i to the next (its rows)
    stride_xn   elements of x from one j to the next (its columns)
    stride_yn   elements of y from one j to the next (its rows)
    stride_ym   elements of y from one i to the next (its columns)
    grid        (cdiv(M, BLOCK_M), cdiv(N, BLOCK_N)); program_id(0) counts tiles along M, program_id(1) along N

    Writes those elements of y whose element of x is in the tile and exists, and nothing else.
    """
    ### BEGIN SOLUTION
    #: # TODO: the i and the j of this tile. Which pairs of them exist?
    #: # TODO: load the tile from x, and store it in y. Where does (i, j) lie in each of the two?
    i = tl.program_id(0) * BLOCK_M + tl.arange(0, BLOCK_M)[:, None]  # (BLOCK_M, 1)
    j = tl.program_id(1) * BLOCK_N + tl.arange(0, BLOCK_N)[None, :]  # (1, BLOCK_N)
    exists = (i < M) & (j < N)  # (BLOCK_M, BLOCK_N)
    tile = tl.load(x_ptr + i * stride_xm + j * stride_xn, mask=exists)
    tl.store(y_ptr + i * stride_ym + j * stride_yn, tile, mask=exists)
    ### END SOLUTION
