"""Lesson 3: softmax, row by row, first of rows that fit in a tile and then of rows that do not.

    softmax(x)_j = exp(x_j) / sum_k exp(x_k)        lse(x) = log sum_k exp(x_k)

Taken as they stand, both overflow in float32 as soon as a score passes 88. Subtracting a row's maximum m first changes
nothing, since exp(m) cancels, and keeps every exponent at 0 or below:

    softmax(x)_j = exp(x_j - m) / l        lse(x) = m + log l        l = sum_k exp(x_k - m)

Shapes: x and y are (M, N), lse is (M,), float32, contiguous. A program owns BLOCK_M rows. An index past the end of a
row, or past the last row, is a *ghost*. A score of -inf is *masked*: its weight is exactly 0.
"""

import triton
import triton.language as tl


@triton.jit
def row_softmax_kernel(x_ptr, y_ptr, M, N, BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr):
    """y = softmax(x) along each row, for rows that fit in one tile.

    x_ptr, y_ptr   pointers to (M, N) float32, contiguous
    grid           (cdiv(M, BLOCK_M),); program_id(0) is the tile of rows
    tiles          BLOCK_N >= N

    x may hold -inf, never a whole row of it. Writes the elements of y that exist, no others.
    """
    offs_m = tl.program_id(0) * BLOCK_M + tl.arange(0, BLOCK_M)
    offs_n = tl.arange(0, BLOCK_N)
    ### BEGIN SOLUTION
    #: # TODO: load the tile x (BLOCK_M, BLOCK_N). What has a ghost column to read as, if it must not take any weight?
    #: # TODO: the softmax of each row, also where scores are in the hundreds; store what exists.
    offsets = offs_m[:, None] * N + offs_n[None, :]  # (BLOCK_M, BLOCK_N)
    real = (offs_m[:, None] < M) & (offs_n[None, :] < N)
    x = tl.load(x_ptr + offsets, mask=real, other=float("-inf"))  # (BLOCK_M, BLOCK_N)
    m = tl.max(x, 1)  # (BLOCK_M,), -inf in ghost rows: NaN comes of it there, and nobody stores it
    p = tl.exp(x - m[:, None])  # (BLOCK_M, BLOCK_N), 0 in ghost columns
    l = tl.sum(p, 1)  # (BLOCK_M,)
    tl.store(y_ptr + offsets, p / l[:, None], mask=real)
    ### END SOLUTION


@triton.jit
def log_sum_exp_kernel(x_ptr, lse_ptr, M, N, BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr):
    """lse = log sum exp(x) of each row, for rows that fit in one tile.

    x_ptr     pointer to (M, N) float32, contiguous
    lse_ptr   pointer to (M,) float32
    grid      (cdiv(M, BLOCK_M),); program_id(0) is the tile of rows
    tiles     BLOCK_N >= N

    x may hold -inf; the lse of a row that holds nothing else is -inf, the log of an empty sum.
    """
    offs_m = tl.program_id(0) * BLOCK_M + tl.arange(0, BLOCK_M)
    offs_n = tl.arange(0, BLOCK_N)
    ### BEGIN SOLUTION
    #: # TODO: load the tile x (BLOCK_M, BLOCK_N), with ghosts that add nothing to the sum.
    #: # TODO: the log-sum-exp of each row; follow a row of -inf through every line. Store the rows that exist.
    real = (offs_m[:, None] < M) & (offs_n[None, :] < N)
    x = tl.load(x_ptr + offs_m[:, None] * N + offs_n[None, :], mask=real, other=float("-inf"))  # (BLOCK_M, BLOCK_N)
    m = tl.max(x, 1)  # (BLOCK_M,)
    # A row of -inf has no maximum to subtract: (-inf) - (-inf) is NaN. With 0 in its place the sum is 0, its log -inf.
    m = tl.where(m == float("-inf"), 0.0, m)
    l = tl.sum(tl.exp(x - m[:, None]), 1)  # (BLOCK_M,)
    tl.store(lse_ptr + offs_m, m + tl.log(l), mask=offs_m < M)
    ### END SOLUTION


@triton.jit
def long_row_softmax_kernel(x_ptr, y_ptr, M, N, BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr):
    """y = softmax(x) along each row, for rows longer than a tile, with x read twice and no more.

    x_ptr, y_ptr   pointers to (M, N) float32, contiguous
    grid           (cdiv(M, BLOCK_M),); program_id(0) is the tile of rows
    tiles          a row is taken in chunks of BLOCK_N columns; no tile holds more of them

    x may hold -inf, for a whole chunk too, never for a whole row. Writes the elements of y that exist, no others.
    """
    offs_m = tl.program_id(0) * BLOCK_M + tl.arange(0, BLOCK_M)
    m_i = tl.full((BLOCK_M,), float("-inf"), tl.float32)  # the largest score so far
    l_i = tl.zeros((BLOCK_M,), tl.float32)  # the sum of exp(x - m_i) so far
    for start_n in range(0, N, BLOCK_N):
        offs_n = start_n + tl.arange(0, BLOCK_N)
        ### BEGIN SOLUTION
        #: # TODO: load this chunk of x (BLOCK_M, BLOCK_N).
        #: # TODO: take it into m_i and l_i. What is l_i worth once the maximum has grown? What if all so far is -inf?
        real = (offs_m[:, None] < M) & (offs_n[None, :] < N)
        x = tl.load(x_ptr + offs_m[:, None] * N + offs_n[None, :], mask=real, other=float("-inf"))
        m_new = tl.maximum(m_i, tl.max(x, 1))  # (BLOCK_M,)
        m_safe = tl.where(m_new == float("-inf"), 0.0, m_new)  # (-inf) - (-inf) would be NaN
        l_i = l_i * tl.exp(m_i - m_safe) + tl.sum(tl.exp(x - m_safe[:, None]), 1)
        m_i = m_new
        ### END SOLUTION
    for start_n in range(0, N, BLOCK_N):
        offs_n = start_n + tl.arange(0, BLOCK_N)
        ### BEGIN SOLUTION
        #: # TODO: load the chunk once more, and store its part of the softmax.
        offsets = offs_m[:, None] * N + offs_n[None, :]  # (BLOCK_M, BLOCK_N)
        real = (offs_m[:, None] < M) & (offs_n[None, :] < N)
        x = tl.load(x_ptr + offsets, mask=real, other=float("-inf"))
        tl.store(y_ptr + offsets, tl.exp(x - m_i[:, None]) / l_i[:, None], mask=real)
        ### END SOLUTION
