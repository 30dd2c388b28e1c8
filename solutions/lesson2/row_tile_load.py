"""Lesson 2: load the rows I own, from a matrix that lies in memory in any way.

A matrix is a pointer and two strides: element (i, j) lies i * stride_m + j * stride_n elements behind the pointer. The
same formula serves a plain matrix, a slice of a wider one, every other row of one, and a transpose.

    program 0 ->  rows 0 1 2 3        a tile is BLOCK_M rows high and BLOCK_N columns wide, both powers of two;
    program 1 ->  rows 4 5 6 7        the matrix is M rows high and N columns wide, whatever these are.
    program 2 ->  rows 8 9 . .        What a tile has beyond the matrix is ghosts, and they read as 0.
"""

import triton
import triton.language as tl


@triton.jit
def load_row_tile(x_ptr, pid, M, N, stride_m, stride_n, BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr):
    """Load the BLOCK_M rows of tile number ``pid``, all columns of them; ghosts read as exactly 0.

    x_ptr      pointer to element (0, 0) of an (M, N) float32 matrix
    pid        number of the tile, counted from 0: the first rows belong to tile 0, the next ones to tile 1
    stride_m   elements from one row to the next
    stride_n   elements from one column to the next
    BLOCK_M    rows of a tile; the last tile may have fewer
    BLOCK_N    columns of a tile, at least N

    Returns tile (BLOCK_M, BLOCK_N).
    """
    ### BEGIN SOLUTION
    #: # TODO: the rows and columns of this tile, as two vectors of indices. Which of them exist?
    #: # TODO: load the tile. Where does each element lie?
    offs_m = pid * BLOCK_M + tl.arange(0, BLOCK_M)  # (BLOCK_M,)
    offs_n = tl.arange(0, BLOCK_N)  # (BLOCK_N,)
    exists = (offs_m[:, None] < M) & (offs_n[None, :] < N)  # (BLOCK_M, BLOCK_N)
    elements = x_ptr + offs_m[:, None] * stride_m + offs_n[None, :] * stride_n  # (BLOCK_M, BLOCK_N)
    tile = tl.load(elements, mask=exists, other=0.0)
    ### END SOLUTION
    return tile
