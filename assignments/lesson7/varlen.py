"""Lesson 7, homework: attention over packed sequences of any lengths, without a padded token.

A batch of sequences of 700, 3 and 90 tokens, padded to one length, is two thirds padding. Packed, the sequences lie one
behind the other in one long tensor, and two lists say where each begins:

    cu_seqlens_q   (BATCH + 1,)   0, then the sum of the first 1, 2, ... lengths, up to total_q
    cu_seqlens_k   (BATCH + 1,)   the same for keys and values

Sequence b has the rows from cu_seqlens_q[b] up to but not including cu_seqlens_q[b + 1]. What lies behind its last row
is no padding and no end of memory: it is the next sequence, which must neither be seen nor written.

Shapes: q and o are (total_q, HEADS, HEAD), k and v (total_k, HEADS, HEAD), lse is (HEADS, total_q); float32 and
contiguous; the lists are int32. HEAD == BLOCK_D. A sequence may have no queries, or no keys: then all its queries are
*dead*, with output 0 and lse -inf. With CAUSAL, query i of a sequence sees its key j if
j <= i + seqlen_k - seqlen_q, with the lengths of that sequence.
"""

import triton
import triton.language as tl


@triton.jit
def varlen_attention_kernel(
    q_ptr,
    k_ptr,
    v_ptr,
    o_ptr,
    lse_ptr,
    cu_seqlens_q_ptr,
    cu_seqlens_k_ptr,
    total_q,
    HEADS,
    HEAD: tl.constexpr,
    scale,
    BLOCK_M: tl.constexpr,
    BLOCK_N: tl.constexpr,
    BLOCK_D: tl.constexpr,
    CAUSAL: tl.constexpr,
):
    """o = softmax(scale * q k^T) v and lse = log sum exp(scale * q k^T), for one tile of one head of one sequence.

    q_ptr, o_ptr   pointers to (total_q, HEADS, HEAD) float32, contiguous
    k_ptr, v_ptr   pointers to (total_k, HEADS, HEAD) float32, contiguous
    lse_ptr        pointer to (HEADS, total_q) float32: the natural log-sum-exp of each row's scores
    cu_seqlens_q_ptr, cu_seqlens_k_ptr   pointers to (BATCH + 1,) int32: where each sequence begins, and the last ends
    scale          float32, handed in (1 / sqrt(HEAD) as a rule)
    grid           (cdiv(the longest seqlen_q, BLOCK_M), BATCH, HEADS); program_id(0) is the query tile of a sequence,
                   program_id(1) the sequence, program_id(2) the head

    No tile holds more than BLOCK_N keys, and a tile behind the last query of its sequence reads none. Writes each row
    of o and lse once.
    """
    first_row = tl.program_id(0) * BLOCK_M
    sequence = tl.program_id(1)
    head = tl.program_id(2)
    offs_m = first_row + tl.arange(0, BLOCK_M)
    offs_d = tl.arange(0, BLOCK_D)
    m_i = tl.full((BLOCK_M,), float("-inf"), tl.float32)
    l_i = tl.zeros((BLOCK_M,), tl.float32)
    acc = tl.zeros((BLOCK_M, BLOCK_D), tl.float32)
    # TODO: where does this sequence begin, and how long is it: seqlen_q, seqlen_k?
    # TODO: load the query tile q (BLOCK_M, BLOCK_D). How far apart are two rows of one head?
    # TODO: how many keys are there to read? A short sequence has fewer tiles than the grid; the rest read nothing.
    end = 0
    for start_n in range(0, end, BLOCK_N):
        offs_n = start_n + tl.arange(0, BLOCK_N)
        # TODO: this chunk's k, v and scores, with the keys counted from the start of their sequence.
        # TODO: -inf for what lies behind the last key and, if CAUSAL, the future. Then your online softmax.
    # TODO: finish the softmax (a dead row has l_i == 0), then store the rows of o and lse that this sequence has.
