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
    ### BEGIN SOLUTION
    #: # TODO: where does this sequence begin, and how long is it: seqlen_q, seqlen_k?
    #: # TODO: load the query tile q (BLOCK_M, BLOCK_D). How far apart are two rows of one head?
    #: # TODO: how many keys are there to read? A short sequence has fewer tiles than the grid; the rest read nothing.
    #: end = 0
    start_q = tl.load(cu_seqlens_q_ptr + sequence)
    start_k = tl.load(cu_seqlens_k_ptr + sequence)
    seqlen_q = tl.load(cu_seqlens_q_ptr + sequence + 1) - start_q
    seqlen_k = tl.load(cu_seqlens_k_ptr + sequence + 1) - start_k
    rows = offs_m < seqlen_q
    q_rows = (start_q + offs_m).to(tl.int64) * HEADS + head  # (BLOCK_M,), among (total_q * HEADS, HEAD)
    q_offsets = q_rows[:, None] * HEAD + offs_d[None, :]  # (BLOCK_M, BLOCK_D)
    q = tl.load(q_ptr + q_offsets, mask=rows[:, None], other=0.0)
    end = tl.where(first_row < seqlen_q, seqlen_k, 0)
    ### END SOLUTION
    for start_n in range(0, end, BLOCK_N):
        offs_n = start_n + tl.arange(0, BLOCK_N)
        ### BEGIN SOLUTION
        #: # TODO: this chunk's k, v and scores, with the keys counted from the start of their sequence.
        #: # TODO: -inf for what lies behind the last key and, if CAUSAL, the future. Then your online softmax.
        keys = offs_n < seqlen_k
        kv_rows = (start_k + offs_n).to(tl.int64) * HEADS + head  # (BLOCK_N,), among (total_k * HEADS, HEAD)
        kv_offsets = kv_rows[:, None] * HEAD + offs_d[None, :]  # (BLOCK_N, BLOCK_D)
        k = tl.load(k_ptr + kv_offsets, mask=keys[:, None], other=0.0)
        v = tl.load(v_ptr + kv_offsets, mask=keys[:, None], other=0.0)
        s = tl.dot(q, tl.trans(k), input_precision="ieee") * scale  # (BLOCK_M, BLOCK_N)
        seen = keys[None, :]
        if CAUSAL:
            seen = seen & (offs_n[None, :] <= offs_m[:, None] + seqlen_k - seqlen_q)
        s = tl.where(seen, s, float("-inf"))
        m_new = tl.maximum(m_i, tl.max(s, 1))  # (BLOCK_M,)
        # For the exponents alone: m_i stays at -inf until a row has seen a key.
        m_safe = tl.where(m_new == float("-inf"), 0.0, m_new)
        alpha = tl.exp(m_i - m_safe)  # (BLOCK_M,)
        p = tl.exp(s - m_safe[:, None])  # (BLOCK_M, BLOCK_N)
        l_i = l_i * alpha + tl.sum(p, 1)
        acc = acc * alpha[:, None] + tl.dot(p, v, input_precision="ieee")
        m_i = m_new
        ### END SOLUTION
    ### BEGIN SOLUTION
    #: # TODO: finish the softmax (a dead row has l_i == 0), then store the rows of o and lse that this sequence has.
    l_safe = tl.where(l_i == 0.0, 1.0, l_i)  # (BLOCK_M,)
    tl.store(o_ptr + q_offsets, acc / l_safe[:, None], mask=rows[:, None])
    lse_rows = head.to(tl.int64) * total_q + start_q + offs_m  # (BLOCK_M,), heads outermost
    tl.store(lse_ptr + lse_rows, m_i + tl.log(l_safe), mask=rows)
    ### END SOLUTION
