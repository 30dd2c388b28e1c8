"""Lesson 7, homework: causal attention that leaves out what nobody may see.

With a causal mask half of all scores are hidden. Your kernel of Part B computes them all the same, and hides them
afterwards. A chunk of keys that lies in the future of every row of a query tile adds nothing to it: the kernel need not
even load it. What is left takes half the time.

What goes on in a chunk is your streaming kernel:

    m, l, acc = -inf, 0, 0                            for each row of the query tile
    for each chunk of keys that a row of this tile may see:
        s       = scale * q k^T                       -inf for keys that a row may not see
        m_new   = the larger of m and the row's largest s
        l, acc  = both brought from m over to m_new, and the chunk added
    o, lse = acc / l, m + log(l)                      0 and -inf for a row that sees no key

Shapes: q and o are (seqlen_q, HEAD), k and v (seqlen_k, HEAD), lse is (seqlen_q,); float32, contiguous, and
HEAD == BLOCK_D. Query i sees key j if j <= i + seqlen_k - seqlen_q, always: there is no switch.
"""

import triton
import triton.language as tl


@triton.jit
def causal_attention_kernel(
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
):
    """o = softmax(scale * q k^T) v and lse = log sum exp(scale * q k^T), causal, for one tile of query rows.

    q_ptr, o_ptr   pointers to (seqlen_q, HEAD) float32, contiguous
    k_ptr, v_ptr   pointers to (seqlen_k, HEAD) float32, contiguous
    lse_ptr        pointer to (seqlen_q,) float32
    grid           (cdiv(seqlen_q, BLOCK_M),); program_id(0) is the query tile

    Chunks of keys start at multiples of BLOCK_N. One that no row of the tile may see is never read, and one that some
    row may see is read once. Writes the rows of o and lse that exist, and nothing else.
    """
    offs_m = tl.program_id(0) * BLOCK_M + tl.arange(0, BLOCK_M)
    offs_d = tl.arange(0, BLOCK_D)
    ### BEGIN SOLUTION
    #: # TODO: load the query tile q (BLOCK_M, BLOCK_D).
    #: # TODO: which is the last key that a row of this tile sees? Walk over the chunks up to it, and no further.
    #: # TODO: finish the softmax, and store o and lse where the rows exist.
    row_exists = offs_m[:, None] < seqlen_q
    q = tl.load(q_ptr + offs_m[:, None] * HEAD + offs_d[None, :], mask=row_exists, other=0.0)  # (BLOCK_M, BLOCK_D)
    reach = offs_m + seqlen_k - seqlen_q  # (BLOCK_M,): the last key that each row sees
    # The last row sees furthest, and behind seqlen_k there is nothing to see. A tile of dead rows ends at 0 or before.
    end_n = tl.minimum((tl.program_id(0) + 1) * BLOCK_M + seqlen_k - seqlen_q, seqlen_k)
    m_i = tl.full((BLOCK_M,), float("-inf"), tl.float32)
    l_i = tl.zeros((BLOCK_M,), tl.float32)
    acc = tl.zeros((BLOCK_M, BLOCK_D), tl.float32)
    for start_n in range(0, end_n, BLOCK_N):
        offs_n = start_n + tl.arange(0, BLOCK_N)
        key_exists = offs_n[:, None] < seqlen_k
        k = tl.load(k_ptr + offs_n[:, None] * HEAD + offs_d[None, :], mask=key_exists, other=0.0)  # (BLOCK_N, BLOCK_D)
        v = tl.load(v_ptr + offs_n[:, None] * HEAD + offs_d[None, :], mask=key_exists, other=0.0)
        s = tl.dot(q, tl.trans(k), input_precision="ieee") * scale  # (BLOCK_M, BLOCK_N)
        # The last row that exists reaches key seqlen_k - 1: this hides ghost keys as well, of all rows that are stored.
        s = tl.where(offs_n[None, :] <= reach[:, None], s, float("-inf"))
        m_new = tl.maximum(m_i, tl.max(s, 1))  # (BLOCK_M,)
        m_safe = tl.where(m_new == float("-inf"), 0.0, m_new)  # for rows that have seen no key yet
        alpha = tl.exp(m_i - m_safe)
        p = tl.exp(s - m_safe[:, None])  # (BLOCK_M, BLOCK_N)
        l_i = l_i * alpha + tl.sum(p, 1)
        acc = acc * alpha[:, None] + tl.dot(p, v, input_precision="ieee")  # (BLOCK_M, BLOCK_D)
        m_i = m_new
    l_safe = tl.where(l_i == 0.0, 1.0, l_i)  # a dead row has acc == 0 and m_i == -inf
    tl.store(o_ptr + offs_m[:, None] * HEAD + offs_d[None, :], acc / l_safe[:, None], mask=row_exists)
    tl.store(lse_ptr + offs_m, m_i + tl.log(l_safe), mask=offs_m < seqlen_q)
    ### END SOLUTION
