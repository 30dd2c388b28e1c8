"""Lesson 7, homework: attention for a whole batch of heads, in whatever layout the tensors have.

A model calls attention once for all of its sequences and heads, and hands over tensors that are seldom contiguous: a
linear layer leaves the heads of one token side by side, and q, k and v may be slices of one larger tensor. So each
tensor comes with four strides, counted in elements, and element (b, h, n, d) lies at b * stride_b + h * stride_h +
n * stride_n + d * stride_d from its pointer. A tensor may have more than 2^31 elements: offsets take 64 bits.

The head size need not be a power of two, and a tile's sides have to be: BLOCK_D is the next power of two, and columns
from HEAD on do not exist.

What goes on in one head is your streaming kernel of Part B, without its lse:

    m, l, acc = -inf, 0, 0                            for each row of the query tile
    for each chunk of keys:
        s       = scale * q k^T                       -inf for keys that do not exist or may not be seen
        m_new   = the larger of m and the row's largest s
        l, acc  = both brought from m over to m_new, and the chunk added
    o = acc / l                                       0 for a row that sees no key
"""

import triton
import triton.language as tl


@triton.jit
def batched_attention_kernel(
    q_ptr,
    k_ptr,
    v_ptr,
    o_ptr,
    stride_qb,
    stride_qh,
    stride_qm,
    stride_qd,
    stride_kb,
    stride_kh,
    stride_kn,
    stride_kd,
    stride_vb,
    stride_vh,
    stride_vn,
    stride_vd,
    stride_ob,
    stride_oh,
    stride_om,
    stride_od,
    heads,
    seqlen_q,
    seqlen_k,
    HEAD: tl.constexpr,
    scale,
    BLOCK_M: tl.constexpr,
    BLOCK_N: tl.constexpr,
    BLOCK_D: tl.constexpr,
    CAUSAL: tl.constexpr,
):
    """o = softmax(scale * q k^T) v for one tile of query rows of one head of one batch.

    q_ptr, o_ptr   pointers to (batch, heads, seqlen_q, HEAD) float32
    k_ptr, v_ptr   pointers to (batch, heads, seqlen_k, HEAD) float32
    stride_xy      elements of x between two neighbours along y: b batch, h head, m query row, n key row, d column
    grid           (cdiv(seqlen_q, BLOCK_M), batch * heads); program_id(0) is the query tile, and program_id(1) is
                   batch * heads + head

    BLOCK_D is the power of two from HEAD on. With CAUSAL query i sees key j if j <= i + seqlen_k - seqlen_q. Writes the
    elements of o that exist, and nothing else; what lies between them in memory belongs to others.
    """
    offs_m = tl.program_id(0) * BLOCK_M + tl.arange(0, BLOCK_M)
    offs_d = tl.arange(0, BLOCK_D)
    ### BEGIN SOLUTION
    #: # TODO: which batch and which head are this program's? Bring the four pointers there.
    #: # TODO: load the query tile q (BLOCK_M, BLOCK_D); what does not exist reads as 0.
    # Whatever is multiplied by a stride has 64 bits, and with it the product: 32 end at 2^31 elements.
    batch = (tl.program_id(1) // heads).to(tl.int64)
    head = (tl.program_id(1) % heads).to(tl.int64)
    q_ptr += batch * stride_qb + head * stride_qh
    k_ptr += batch * stride_kb + head * stride_kh
    v_ptr += batch * stride_vb + head * stride_vh
    o_ptr += batch * stride_ob + head * stride_oh
    row, column = offs_m.to(tl.int64)[:, None], offs_d.to(tl.int64)[None, :]
    q_exists = (row < seqlen_q) & (column < HEAD)  # (BLOCK_M, BLOCK_D)
    q = tl.load(q_ptr + row * stride_qm + column * stride_qd, mask=q_exists, other=0.0)  # (BLOCK_M, BLOCK_D)
    ### END SOLUTION
    m_i = tl.full((BLOCK_M,), float("-inf"), tl.float32)
    l_i = tl.zeros((BLOCK_M,), tl.float32)
    acc = tl.zeros((BLOCK_M, BLOCK_D), tl.float32)
    for start_n in range(0, seqlen_k, BLOCK_N):
        offs_n = start_n + tl.arange(0, BLOCK_N)
        ### BEGIN SOLUTION
        #: # TODO: load this chunk's k and v, each by its own strides, and take them into m_i, l_i and acc.
        key = offs_n.to(tl.int64)[:, None]
        k_exists = (key < seqlen_k) & (column < HEAD)  # (BLOCK_N, BLOCK_D)
        k = tl.load(k_ptr + key * stride_kn + column * stride_kd, mask=k_exists, other=0.0)
        v = tl.load(v_ptr + key * stride_vn + column * stride_vd, mask=k_exists, other=0.0)
        # Columns from HEAD on are 0 in q and k, and add nothing to a score.
        s = tl.dot(q, tl.trans(k), input_precision="ieee") * scale  # (BLOCK_M, BLOCK_N)
        keep = offs_n[None, :] < seqlen_k
        if CAUSAL:
            keep = keep & (offs_n[None, :] <= offs_m[:, None] + seqlen_k - seqlen_q)
        s = tl.where(keep, s, float("-inf"))
        m_new = tl.maximum(m_i, tl.max(s, 1))  # (BLOCK_M,)
        m_safe = tl.where(m_new == float("-inf"), 0.0, m_new)  # for rows that have seen no key yet
        alpha = tl.exp(m_i - m_safe)
        p = tl.exp(s - m_safe[:, None])  # (BLOCK_M, BLOCK_N)
        l_i = l_i * alpha + tl.sum(p, 1)
        acc = acc * alpha[:, None] + tl.dot(p, v, input_precision="ieee")  # (BLOCK_M, BLOCK_D)
        m_i = m_new
        ### END SOLUTION
    ### BEGIN SOLUTION
    #: # TODO: finish the softmax, and store o by its own strides, where it exists.
    l_safe = tl.where(l_i == 0.0, 1.0, l_i)  # a dead row has acc == 0
    o = acc / l_safe[:, None]
    tl.store(o_ptr + row * stride_om + column * stride_od, o, mask=q_exists)
    ### END SOLUTION
