"""Lesson 7, homework: FlashAttention in 16 bits, with its state in 32.

Tensor cores multiply tiles of 16-bit numbers many times as fast as float32 ones, and half as many bytes come from
memory. What may be short and what may not: q, k, v and the weights p go into products as 16-bit tiles, which tl.dot
adds up in float32; the scores, the running maximum, the running sum and the accumulator stay in float32 until the
output is stored.

What goes on in a chunk is your streaming kernel:

    m, l, acc = -inf, 0, 0                            for each row of the query tile
    for each chunk of keys:
        s       = scale * q k^T                       -inf for keys that do not exist or may not be seen
        m_new   = the larger of m and the row's largest s
        l, acc  = both brought from m over to m_new, and the chunk added
    o, lse = acc / l, m + log(l)                      0 and -inf for a row that sees no key

Shapes: q and o are (seqlen_q, HEAD), k and v (seqlen_k, HEAD), all of one 16-bit dtype; lse is (seqlen_q,) float32.
Contiguous, HEAD == BLOCK_D. On a GPU the 16-bit dtype may be bfloat16 as well as float16: a tile has the dtype of the
pointer that it was loaded by, and the kernel need not name it.
"""

import triton
import triton.language as tl


@triton.jit
def half_attention_kernel(
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

    q_ptr, o_ptr   pointers to (seqlen_q, HEAD), float16 or bfloat16, contiguous
    k_ptr, v_ptr   pointers to (seqlen_k, HEAD), of the same dtype, contiguous
    lse_ptr        pointer to (seqlen_q,) float32
    scale          float32
    grid           (cdiv(seqlen_q, BLOCK_M),); program_id(0) is the query tile

    With CAUSAL query i sees key j if j <= i + seqlen_k - seqlen_q. q k^T before the scale, and the sum of p v before
    the division, may be larger than 65504. Writes the rows of o and lse that exist, and nothing else.
    """
    offs_m = tl.program_id(0) * BLOCK_M + tl.arange(0, BLOCK_M)
    offs_d = tl.arange(0, BLOCK_D)
    ### BEGIN SOLUTION
    #: # TODO: load the query tile q (BLOCK_M, BLOCK_D); which dtype has it?
    #: # TODO: the running values m_i, l_i and acc: which dtype does each need?
    row_exists = offs_m[:, None] < seqlen_q
    q = tl.load(q_ptr + offs_m[:, None] * HEAD + offs_d[None, :], mask=row_exists, other=0.0)  # (BLOCK_M, BLOCK_D)
    m_i = tl.full((BLOCK_M,), float("-inf"), tl.float32)
    l_i = tl.zeros((BLOCK_M,), tl.float32)
    acc = tl.zeros((BLOCK_M, BLOCK_D), tl.float32)
    ### END SOLUTION
    for start_n in range(0, seqlen_k, BLOCK_N):
        offs_n = start_n + tl.arange(0, BLOCK_N)
        ### BEGIN SOLUTION
        #: # TODO: load this chunk's k and v, and take them into m_i, l_i and acc: 16 bits into a product, 32 out of it.
        key_exists = offs_n[:, None] < seqlen_k
        k = tl.load(k_ptr + offs_n[:, None] * HEAD + offs_d[None, :], mask=key_exists, other=0.0)  # (BLOCK_N, BLOCK_D)
        v = tl.load(v_ptr + offs_n[:, None] * HEAD + offs_d[None, :], mask=key_exists, other=0.0)
        s = tl.dot(q, tl.trans(k)) * scale  # (BLOCK_M, BLOCK_N) float32; q * scale would be rounded to 16 bits
        keep = offs_n[None, :] < seqlen_k
        if CAUSAL:
            keep = keep & (offs_n[None, :] <= offs_m[:, None] + seqlen_k - seqlen_q)
        s = tl.where(keep, s, float("-inf"))
        m_new = tl.maximum(m_i, tl.max(s, 1))  # (BLOCK_M,)
        m_safe = tl.where(m_new == float("-inf"), 0.0, m_new)  # for rows that have seen no key yet
        alpha = tl.exp(m_i - m_safe)
        p = tl.exp(s - m_safe[:, None])  # (BLOCK_M, BLOCK_N) float32, at most 1
        l_i = l_i * alpha + tl.sum(p, 1)  # of the weights before they are rounded: lse has the digits of float32
        acc = tl.dot(p.to(v.dtype), v, acc * alpha[:, None])  # (BLOCK_M, BLOCK_D), added up in float32
        m_i = m_new
        ### END SOLUTION
    ### BEGIN SOLUTION
    #: # TODO: finish the softmax in float32, then store o, which is rounded there and not before, and lse.
    l_safe = tl.where(l_i == 0.0, 1.0, l_i)  # a dead row has acc == 0 and m_i == -inf
    o = acc / l_safe[:, None]
    tl.store(o_ptr + offs_m[:, None] * HEAD + offs_d[None, :], o.to(o_ptr.dtype.element_ty), mask=row_exists)
    tl.store(lse_ptr + offs_m, m_i + tl.log(l_safe), mask=offs_m < seqlen_q)
    ### END SOLUTION
