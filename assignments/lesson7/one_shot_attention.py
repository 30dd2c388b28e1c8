"""Lesson 7, Part A: one-shot attention, three lines of math in one kernel.

    S = scale * Q K^T        (NSEQ, NSEQ) scores, never written to memory
    P = softmax(S)           row by row, the causal mask applied first
    O = P V                  (NSEQ, HEAD)

One program owns a tile of BLOCK_M query rows and sees all keys in one tile of BLOCK_N >= NSEQ columns. The sequence
seldom fills the tiles: an index past its end is a *ghost*. Ghost columns would take weight from real keys, and ghost
rows turn into NaN as soon as they are masked. Three small pieces deal with them; the kernel puts the pieces together.

Shapes: q, k, v and o are (NSEQ, HEAD), float32, contiguous. HEAD == BLOCK_D. Tile sizes are powers of two.
"""

import triton
import triton.language as tl


@triton.jit
def load_tiles(q_ptr, k_ptr, v_ptr, offs_m, offs_n, offs_d, NSEQ, HEAD: tl.constexpr):
    """Load a tile of q, k and v; ghosts read as exactly 0.

    q_ptr, k_ptr, v_ptr   pointers to (NSEQ, HEAD) float32, contiguous
    offs_m  (BLOCK_M,)    query rows of this tile; offs_m >= NSEQ are ghosts
    offs_n  (BLOCK_N,)    key rows of this tile; offs_n >= NSEQ are ghosts
    offs_d  (BLOCK_D,)    0 .. HEAD - 1

    Returns q (BLOCK_M, BLOCK_D), k (BLOCK_N, BLOCK_D), v (BLOCK_N, BLOCK_D).
    """
    # TODO: load q, k and v. Which rows does each of them take, and what may a ghost row touch?
    return q, k, v


@triton.jit
def mask_scores(s, offs_m, offs_n, NSEQ, CAUSAL: tl.constexpr):
    """Set every score that must not count to -inf, and leave the others as they are.

    s       (BLOCK_M, BLOCK_N)  float32, finite everywhere
    offs_m  (BLOCK_M,)          query index of each row
    offs_n  (BLOCK_N,)          key index of each column
    CAUSAL                      query i may see the keys 0 .. i only

    Out: ghost columns, ghost rows and, if CAUSAL, the future. Returns s (BLOCK_M, BLOCK_N).
    """
    # TODO: which scores are real? Build that mask, with the causal rule on top, and apply it to s.
    return s


@triton.jit
def pin_ghost_rows(s, offs_m, NSEQ):
    """The maximum of each row, pinned to something finite where the row is a ghost.

    s       (BLOCK_M, BLOCK_N)  masked scores: a ghost row is -inf throughout, a live row never is
    offs_m  (BLOCK_M,)          query index of each row

    The kernel goes on with exp(s - m). A ghost row whose m is -inf gives (-inf) - (-inf) = NaN, and that NaN
    spreads as soon as rows meet, as in the attention mass per key, the sum of the probabilities down a column.

    Returns m (BLOCK_M,): the exact row maximum for live rows, any finite number for ghost rows.
    """
    # TODO: take the row maximum, then pin the rows that have none.
    return m


@triton.jit
def attention_kernel(
    q_ptr,
    k_ptr,
    v_ptr,
    o_ptr,
    NSEQ,
    HEAD: tl.constexpr,
    scale,
    BLOCK_M: tl.constexpr,
    BLOCK_N: tl.constexpr,
    BLOCK_D: tl.constexpr,
    CAUSAL: tl.constexpr,
):
    """o = softmax(scale * q k^T) v for one tile of query rows, with all keys in a single tile.

    q_ptr, k_ptr, v_ptr, o_ptr   pointers to (NSEQ, HEAD) float32, contiguous
    scale                        float32, handed in (1 / sqrt(HEAD) as a rule)
    grid                         (cdiv(NSEQ, BLOCK_M),); program_id(0) is the query tile
    tiles                        BLOCK_N >= NSEQ, BLOCK_D == HEAD; BLOCK_M may differ from BLOCK_N

    Writes the rows of o that exist, and nothing else.
    """
    offs_m = tl.program_id(0) * BLOCK_M + tl.arange(0, BLOCK_M)
    offs_n = tl.arange(0, BLOCK_N)
    offs_d = tl.arange(0, BLOCK_D)
    q, k, v = load_tiles(q_ptr, k_ptr, v_ptr, offs_m, offs_n, offs_d, NSEQ, HEAD)
    # TODO: the scores s (BLOCK_M, BLOCK_N), in true float32 (tl.dot rounds float32 to TF32 unless told otherwise).
    s = mask_scores(s, offs_m, offs_n, NSEQ, CAUSAL)
    m = pin_ghost_rows(s, offs_m, NSEQ)
    # TODO: softmax each row with its maximum m. A ghost row sums to 0: what should it be divided by?
    # TODO: the output tile (BLOCK_M, BLOCK_D), in true float32 again, stored where the rows exist.
