"""Lesson 6: rotary position embedding, which turns pairs of a head's columns by angles that grow with the position.

    (a, b)  ->  (a cos - b sin, b cos + a sin)

Each head of a query or a key is cut into HEAD / 2 pairs (Su et al. 2021, arXiv 2104.09864). Pair i of the token at
position p turns by the angle p * base^(-2i / HEAD), whose cosine and sine stand in two tables with a row for each
position. Which columns make a pair is a matter of the model, and there are two customs:

    interleaved   pair i is columns 2i and 2i + 1
    half-split    pair i is columns i and i + HEAD / 2

A turn changes no length, and a score q . k depends on how far apart the two positions are, and on nothing else.

Shapes: x and y are (tokens, HEADS, HEAD) float32, contiguous; positions is (tokens,) int64; the tables are
(places, HEAD / 2) float32. HEAD is a power of two, BLOCK_H a power of two that holds all heads: BLOCK_H >= HEADS.
"""

import triton
import triton.language as tl


@triton.jit
def rope_kernel(
    x_ptr,
    positions_ptr,
    cos_ptr,
    sin_ptr,
    y_ptr,
    HEADS,
    HEAD: tl.constexpr,
    BLOCK_H: tl.constexpr,
    INTERLEAVED: tl.constexpr,
):
    """Turn all heads of one token by the angles of its position.

    x_ptr, y_ptr      pointers to (tokens, HEADS, HEAD) float32, contiguous
    positions_ptr     pointer to (tokens,) int64: the position of each token in its own sequence
    cos_ptr, sin_ptr  pointers to (places, HEAD // 2) float32, contiguous: row p is for position p
    INTERLEAVED       pair i is columns (2i, 2i + 1) if true, columns (i, i + HEAD // 2) if not
    grid              (tokens,); program_id(0) is the token
    tiles             BLOCK_H >= HEADS; a head from HEADS on is a ghost

    Writes the heads of y that exist, and nothing else.
    """
    token = tl.program_id(0)
    heads = tl.arange(0, BLOCK_H)
    pairs = tl.arange(0, HEAD // 2)
    ### BEGIN SOLUTION
    #: # TODO: the token's position, and its row of cosines and sines (HEAD // 2,).
    #: # TODO: which two columns make up each pair? That is all that INTERLEAVED decides.
    #: # TODO: load both columns of every pair of every head, turn them, and store them where they came from.
    position = tl.load(positions_ptr + token)
    angles = position * (HEAD // 2) + pairs  # (HEAD // 2,)
    cos = tl.load(cos_ptr + angles)[None, :]
    sin = tl.load(sin_ptr + angles)[None, :]
    if INTERLEAVED:
        first, second = 2 * pairs, 2 * pairs + 1
    else:
        first, second = pairs, pairs + HEAD // 2
    real = heads[:, None] < HEADS
    rows = (token * HEADS + heads[:, None]) * HEAD  # (BLOCK_H, 1)
    # The two columns of a pair are loaded as two tiles, so that turning them takes no shuffle.
    a = tl.load(x_ptr + rows + first[None, :], mask=real)  # (BLOCK_H, HEAD // 2)
    b = tl.load(x_ptr + rows + second[None, :], mask=real)
    tl.store(y_ptr + rows + first[None, :], a * cos - b * sin, mask=real)
    tl.store(y_ptr + rows + second[None, :], b * cos + a * sin, mask=real)
    ### END SOLUTION
