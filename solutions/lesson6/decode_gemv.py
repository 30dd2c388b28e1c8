"""Lesson 6: one token's projection, y = W x, with the sum over K split among programs.

When a model decodes, a layer multiplies its weights with a single vector. Every weight is read once and used once, so
the time is that of reading W, and the GPU must have enough programs at work to read at full speed. A small layer has
too few tiles of rows for that: the columns are split as well. Each program adds up its part of the sum, and a second
kernel adds the parts, always in the same order, so that the same input gives the same bits.

Shapes: x is (K,), W is (N, K) as torch.nn.Linear keeps it, partial is (SPLITS, N), y is (N,); float32, contiguous.
Split s takes the columns s * CHUNK up to (s + 1) * CHUNK, or up to K; SPLITS = cdiv(K, CHUNK).
"""

import triton
import triton.language as tl


@triton.jit
def gemv_split_kernel(
    x_ptr,
    w_ptr,
    partial_ptr,
    N,
    K,
    CHUNK,
    BLOCK_N: tl.constexpr,
    BLOCK_K: tl.constexpr,
):
    """partial[s, n] = the sum of W[n, k] * x[k] over split s's columns, for one tile of rows and one split.

    x_ptr        pointer to (K,) float32
    w_ptr        pointer to (N, K) float32, contiguous
    partial_ptr  pointer to (SPLITS, N) float32, contiguous
    CHUNK        columns a split takes; need be no multiple of BLOCK_K, and the last split may have fewer
    grid         (cdiv(N, BLOCK_N), SPLITS); program_id(0) is the tile of rows, program_id(1) the split

    Reads each weight of its part once. Writes the elements of partial that are its own, and nothing else.
    """
    rows = tl.program_id(0) * BLOCK_N + tl.arange(0, BLOCK_N)
    split = tl.program_id(1)
    ### BEGIN SOLUTION
    #: # TODO: where do this split's columns begin and end?
    #: # TODO: walk over them in tiles (BLOCK_N, BLOCK_K), add up W * x for each row, and store the sums.
    first = split * CHUNK
    last = tl.minimum(first + CHUNK, K)
    total = tl.zeros((BLOCK_N,), tl.float32)
    for start in range(first, last, BLOCK_K):
        columns = start + tl.arange(0, BLOCK_K)
        mine = columns < last  # (BLOCK_K,), what lies behind belongs to the next split, or to nobody
        x = tl.load(x_ptr + columns, mask=mine, other=0.0)  # (BLOCK_K,)
        w = tl.load(
            w_ptr + rows[:, None] * K + columns[None, :], mask=(rows[:, None] < N) & mine[None, :], other=0.0
        )  # (BLOCK_N, BLOCK_K)
        total += tl.sum(w * x[None, :], 1)
    tl.store(partial_ptr + split * N + rows, total, mask=rows < N)
    ### END SOLUTION


@triton.jit
def gemv_reduce_kernel(partial_ptr, y_ptr, N, SPLITS, BLOCK_N: tl.constexpr):
    """y[n] = the sum of partial[s, n] over all splits, for one tile of rows.

    partial_ptr  pointer to (SPLITS, N) float32, contiguous
    y_ptr        pointer to (N,) float32
    grid         (cdiv(N, BLOCK_N),); program_id(0) is the tile of rows

    Writes the elements of y that exist, and nothing else.
    """
    rows = tl.program_id(0) * BLOCK_N + tl.arange(0, BLOCK_N)
    ### BEGIN SOLUTION
    #: # TODO: add up the rows of partial for these columns of it, and store the sums.
    total = tl.zeros((BLOCK_N,), tl.float32)
    for split in range(SPLITS):
        total += tl.load(partial_ptr + split * N + rows, mask=rows < N)
    tl.store(y_ptr + rows, total, mask=rows < N)
    ### END SOLUTION
