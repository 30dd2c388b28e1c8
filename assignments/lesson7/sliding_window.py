"""Lesson 7, homework: attention within a sliding window, at the cost of the window.

Each query sees the keys around its own place and no others:

    query i sees key j if   i + seqlen_k - seqlen_q - window_left <= j <= i + seqlen_k - seqlen_q + window_right

The last query is aligned with the last key. -1 for a side means that it has no end, so that (-1, -1) is plain
attention, (-1, 0) causal attention, and (4095, 0) the window of a model that looks back over 4096 tokens.

What a window changes in the streaming kernel:

    which chunks     a tile of queries sees one band of keys: all chunks outside of it need not be read
    the first chunk  the first rows of a tile see keys that its last rows do not. For those a chunk comes that is
                     masked throughout, before they have seen anything: m_i is -inf still, and -inf - (-inf) is NaN

Shapes: q and o are (seqlen_q, HEAD), k and v (seqlen_k, HEAD), lse is (seqlen_q,); float32, contiguous.
HEAD == BLOCK_D. A query that sees no key at all is *dead*: its output is 0 and its lse -inf.
"""

import triton
import triton.language as tl


@triton.jit
def sliding_window_kernel(
    q_ptr,
    k_ptr,
    v_ptr,
    o_ptr,
    lse_ptr,
    seqlen_q,
    seqlen_k,
    window_left,
    window_right,
    HEAD: tl.constexpr,
    scale,
    BLOCK_M: tl.constexpr,
    BLOCK_N: tl.constexpr,
    BLOCK_D: tl.constexpr,
):
    """o = softmax(s) v and lse = log sum exp(s), s = scale * q k^T within the window, for one tile of query rows.

    q_ptr, o_ptr   pointers to (seqlen_q, HEAD) float32, contiguous
    k_ptr, v_ptr   pointers to (seqlen_k, HEAD) float32, contiguous
    lse_ptr        pointer to (seqlen_q,) float32: the natural log-sum-exp of each row's scores
    window_left, window_right   keys that a query sees before and behind its own place, 0 or more; -1: all there are
    scale          float32, handed in (1 / sqrt(HEAD) as a rule)
    grid           (cdiv(seqlen_q, BLOCK_M),); program_id(0) is the query tile

    No tile holds more than BLOCK_N keys, and chunks that no row of the tile sees are not read. Writes the rows of o and
    lse that exist, and nothing else.
    """
    first_row = tl.program_id(0) * BLOCK_M
    offs_m = first_row + tl.arange(0, BLOCK_M)
    offs_d = tl.arange(0, BLOCK_D)
    m_i = tl.full((BLOCK_M,), float("-inf"), tl.float32)
    l_i = tl.zeros((BLOCK_M,), tl.float32)
    acc = tl.zeros((BLOCK_M, BLOCK_D), tl.float32)
    # TODO: load the query tile q (BLOCK_M, BLOCK_D).
    # TODO: which keys do the rows of this tile see, from the first to the last? With these two all are read.
    start = 0
    end = seqlen_k
    for start_n in range(start, end, BLOCK_N):
        offs_n = start_n + tl.arange(0, BLOCK_N)
        # TODO: this chunk's k, v and scores, as in flash_attention_kernel; -inf for ghosts and hidden keys.
        # TODO: your online softmax takes the chunk in. For some rows it may be masked throughout, and come first.
    # TODO: finish the softmax (a dead row has l_i == 0), then store o and lse where the rows exist.
