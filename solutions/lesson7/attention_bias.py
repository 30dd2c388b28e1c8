"""Lesson 7, homework: scores with something added, a bias from memory or ALiBi's from the distance.

    s[i, j] = scale * q[i] . k[j] + bias[i, j] - slope * |i + seqlen_k - seqlen_q - j|

A bias is how a model says more than q and k do: a learnt bias for each pair of places, or a mask, 0 where a key may be
seen and -inf where not. It is as large as the scores, so that it is read tile by tile, as they are made. What is the
same for all heads, or for all queries, is stored once: its stride is 0.

ALiBi (Press et al. 2022, arXiv 2108.12409) needs no memory: what is taken off grows with the distance between query and
key, at a rate of its own for each head, and two indices say what the distance is.

Shapes: q and o are (HEADS, seqlen_q, HEAD), k and v (HEADS, seqlen_k, HEAD), lse is (HEADS, seqlen_q), slopes (HEADS,);
float32, contiguous. HEAD == BLOCK_D. With CAUSAL, query i sees key j if j <= i + seqlen_k - seqlen_q. A query that sees
no key at all, by its place or by its bias, is *dead*: its output is 0 and its lse -inf.
"""

import triton
import triton.language as tl


@triton.jit
def attention_bias_kernel(
    q_ptr,
    k_ptr,
    v_ptr,
    bias_ptr,
    slopes_ptr,
    o_ptr,
    lse_ptr,
    seqlen_q,
    seqlen_k,
    stride_bh,
    stride_bm,
    HEAD: tl.constexpr,
    scale,
    BLOCK_M: tl.constexpr,
    BLOCK_N: tl.constexpr,
    BLOCK_D: tl.constexpr,
    CAUSAL: tl.constexpr,
):
    """o = softmax(s) v and lse = log sum exp(s), s = scale * q k^T + bias - slope * distance, for a tile of one head.

    q_ptr, o_ptr   pointers to (HEADS, seqlen_q, HEAD) float32, contiguous
    k_ptr, v_ptr   pointers to (HEADS, seqlen_k, HEAD) float32, contiguous
    bias_ptr       pointer to float32: bias[h, i, j] is at h * stride_bh + i * stride_bm + j; a stride of 0 is one bias
                   for all heads, or for all queries. -inf hides a key
    slopes_ptr     pointer to (HEADS,) float32: ALiBi's slope of each head, 0 for none
    lse_ptr        pointer to (HEADS, seqlen_q) float32: the natural log-sum-exp of each row's scores
    scale          float32, handed in; for q k^T alone
    grid           (cdiv(seqlen_q, BLOCK_M), HEADS); program_id(0) is the query tile, program_id(1) the head

    No tile holds more than BLOCK_N keys. Writes the rows of o and lse that exist, and nothing else.
    """
    offs_m = tl.program_id(0) * BLOCK_M + tl.arange(0, BLOCK_M)
    offs_d = tl.arange(0, BLOCK_D)
    m_i = tl.full((BLOCK_M,), float("-inf"), tl.float32)
    l_i = tl.zeros((BLOCK_M,), tl.float32)
    acc = tl.zeros((BLOCK_M, BLOCK_D), tl.float32)
    ### BEGIN SOLUTION
    #: # TODO: where does this program's head begin, in q, k, v, o, lse, and in the bias?
    #: # TODO: load the head's slope, and the query tile q (BLOCK_M, BLOCK_D).
    head = tl.program_id(1).to(tl.int64)  # a bias has more than 2^31 elements sooner than anything else
    k_head = k_ptr + head * seqlen_k * HEAD
    v_head = v_ptr + head * seqlen_k * HEAD
    slope = tl.load(slopes_ptr + head)
    rows = offs_m < seqlen_q
    q_rows = head * seqlen_q + offs_m  # (BLOCK_M,), among the rows of all heads
    q_offsets = q_rows[:, None] * HEAD + offs_d[None, :]  # (BLOCK_M, BLOCK_D)
    q = tl.load(q_ptr + q_offsets, mask=rows[:, None], other=0.0)
    bias_rows = bias_ptr + head * stride_bh + offs_m.to(tl.int64) * stride_bm  # (BLOCK_M,)
    place = offs_m + (seqlen_k - seqlen_q)  # (BLOCK_M,), where each row stands among the keys
    ### END SOLUTION
    for start_n in range(0, seqlen_k, BLOCK_N):
        offs_n = start_n + tl.arange(0, BLOCK_N)
        ### BEGIN SOLUTION
        #: # TODO: this chunk's k, v and q k^T, scaled, as in flash_attention_kernel.
        #: # TODO: load the bias of the chunk (BLOCK_M, BLOCK_N), add it, and take off ALiBi's share.
        #: # TODO: -inf for ghosts and, if CAUSAL, the future. Then your online softmax; a chunk may be -inf throughout.
        keys = offs_n < seqlen_k
        kv_offsets = offs_n[:, None] * HEAD + offs_d[None, :]  # (BLOCK_N, BLOCK_D)
        k = tl.load(k_head + kv_offsets, mask=keys[:, None], other=0.0)
        v = tl.load(v_head + kv_offsets, mask=keys[:, None], other=0.0)
        bias = tl.load(bias_rows[:, None] + offs_n[None, :], mask=rows[:, None] & keys[None, :], other=0.0)
        distance = tl.abs(place[:, None] - offs_n[None, :])  # (BLOCK_M, BLOCK_N)
        s = tl.dot(q, tl.trans(k), input_precision="ieee") * scale + bias - slope * distance
        seen = keys[None, :]
        if CAUSAL:
            seen = seen & (offs_n[None, :] <= place[:, None])
        s = tl.where(seen, s, float("-inf"))
        m_new = tl.maximum(m_i, tl.max(s, 1))  # (BLOCK_M,), of scores that have their bias
        # For the exponents alone: m_i stays at -inf until a row has seen a key.
        m_safe = tl.where(m_new == float("-inf"), 0.0, m_new)
        alpha = tl.exp(m_i - m_safe)  # (BLOCK_M,)
        p = tl.exp(s - m_safe[:, None])  # (BLOCK_M, BLOCK_N)
        l_i = l_i * alpha + tl.sum(p, 1)
        acc = acc * alpha[:, None] + tl.dot(p, v, input_precision="ieee")
        m_i = m_new
        ### END SOLUTION
    ### BEGIN SOLUTION
    #: # TODO: finish the softmax (a dead row has l_i == 0), then store o and lse where the rows exist.
    l_safe = tl.where(l_i == 0.0, 1.0, l_i)  # (BLOCK_M,)
    tl.store(o_ptr + q_offsets, acc / l_safe[:, None], mask=rows[:, None])
    tl.store(lse_ptr + q_rows, m_i + tl.log(l_safe), mask=rows)
    ### END SOLUTION
