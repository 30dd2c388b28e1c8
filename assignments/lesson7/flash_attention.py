"""Lesson 7, Part B: FlashAttention, the keys streamed through one tile with an online softmax.

A row of scores no longer has to fit in a tile. The kernel walks over the keys in chunks of BLOCK_N and keeps three
running values for each query row:

    m_i  (BLOCK_M,)           the largest score so far
    l_i  (BLOCK_M,)           the sum of exp(s - m_i) so far
    acc  (BLOCK_M, BLOCK_D)   the sum of exp(s - m_i) v so far

When a chunk raises the maximum, l_i and acc are still measured against the old one, and both have to be rescaled.
At the end the output is acc / l_i and the row's log-sum-exp is m_i + log(l_i).

Shapes: q and o are (seqlen_q, HEAD), k and v (seqlen_k, HEAD), lse is (seqlen_q,); float32, contiguous.
HEAD == BLOCK_D. With CAUSAL the last query is aligned with the last key: query i sees key j if
j <= i + seqlen_k - seqlen_q. A query that sees no key at all is *dead*: its output is 0 and its lse -inf.
"""

import triton
import triton.language as tl


@triton.jit
def online_softmax_update(m_i, l_i, acc, s, v):
    """Take one chunk of keys into the running softmax.

    m_i  (BLOCK_M,)           running maximum, in natural units; -inf before the first visible key
    l_i  (BLOCK_M,)           running sum of exp(s - m_i)
    acc  (BLOCK_M, BLOCK_D)   running sum of exp(s - m_i) v
    s    (BLOCK_M, BLOCK_N)   the chunk's scores, scaled and masked (-inf where nothing may be seen)
    v    (BLOCK_N, BLOCK_D)   the chunk's values

    A chunk may be masked throughout for some rows, the first one too; no NaN may come of it.
    Returns m_i, l_i, acc after the chunk.
    """
    # TODO: the new maximum; then bring l_i and acc over to it; then add the chunk, in true float32.
    return m_i, l_i, acc


@triton.jit
def flash_attention_kernel(
    q_ptr,
    k_ptr,
    v_ptr,
    o_ptr,
    lse_ptr,
    seqlen_q,
    seqlen_k,
    HEAD: tl.constexpr,
    scale,
    BLOCK_M: tl.constexpr,
    BLOCK_N: tl.constexpr,
    BLOCK_D: tl.constexpr,
    CAUSAL: tl.constexpr,
):
    """o = softmax(scale * q k^T) v and lse = log sum exp(scale * q k^T) for one tile of query rows.

    q_ptr, o_ptr   pointers to (seqlen_q, HEAD) float32, contiguous
    k_ptr, v_ptr   pointers to (seqlen_k, HEAD) float32, contiguous
    lse_ptr        pointer to (seqlen_q,) float32: the natural log-sum-exp of each row's scores
    scale          float32, handed in (1 / sqrt(HEAD) as a rule)
    grid           (cdiv(seqlen_q, BLOCK_M),); program_id(0) is the query tile

    No tile holds more than BLOCK_N keys. Writes the rows of o and lse that exist, and nothing else.
    """
    offs_m = tl.program_id(0) * BLOCK_M + tl.arange(0, BLOCK_M)
    offs_d = tl.arange(0, BLOCK_D)
    # TODO: load the query tile q (BLOCK_M, BLOCK_D).
    m_i = tl.full((BLOCK_M,), float("-inf"), tl.float32)
    l_i = tl.zeros((BLOCK_M,), tl.float32)
    acc = tl.zeros((BLOCK_M, BLOCK_D), tl.float32)
    for start_n in range(0, seqlen_k, BLOCK_N):
        offs_n = start_n + tl.arange(0, BLOCK_N)
        # TODO: load this chunk's k and v, both (BLOCK_N, BLOCK_D).
        # TODO: the scores s (BLOCK_M, BLOCK_N), in true float32; -inf for ghost columns and, if CAUSAL, the future.
        m_i, l_i, acc = online_softmax_update(m_i, l_i, acc, s, v)
    # TODO: finish the softmax (a dead row has l_i == 0), then store o and lse where the rows exist.
