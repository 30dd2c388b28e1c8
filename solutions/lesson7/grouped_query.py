"""Lesson 7, homework: grouped-query attention, in which several query heads share one head of keys and values.

While a model writes its answer, each step has one query and all keys so far, and the time goes into reading keys. So
models keep fewer heads of keys and values than of queries: query heads h * group to h * group + group - 1 share key
head h, with group = heads_q // heads_kv. All of them need the same chunk of keys at the same time, and a tile that
holds rows of all of them reads it once. With one query a head, eight heads still fill eight rows of a tile.

The rows of a group are counted like this: packed row r is query r // group of the group's head r % group.

    q head   8 9 10 11 | 8 9 10 11 | 8 ...            group = 4, key head 2
    query    0 0  0  0 | 1 1  1  1 | 2 ...
    row r    0 1  2  3 | 4 5  6  7 | 8 ...

What goes on in a chunk is your streaming kernel, without its lse:

    m, l, acc = -inf, 0, 0                            for each packed row of the tile
    for each chunk of keys:
        s       = scale * q k^T                       -inf for keys that do not exist or may not be seen
        m_new   = the larger of m and the row's largest s
        l, acc  = both brought from m over to m_new, and the chunk added
    o = acc / l                                       0 for a row that sees no key

Shapes: q and o are (batch, heads_q, seqlen_q, HEAD), k and v (batch, heads_kv, seqlen_k, HEAD); float32, contiguous.
HEAD == BLOCK_D, and heads_q is a multiple of heads_kv.
"""

import triton
import triton.language as tl


@triton.jit
def grouped_attention_kernel(
    q_ptr,
    k_ptr,
    v_ptr,
    o_ptr,
    heads_q,
    heads_kv,
    seqlen_q,
    seqlen_k,
    HEAD: tl.constexpr,
    scale,
    BLOCK_M: tl.constexpr,
    BLOCK_N: tl.constexpr,
    BLOCK_D: tl.constexpr,
    CAUSAL: tl.constexpr,
):
    """o = softmax(scale * q k^T) v for one tile of the packed rows of one group of query heads.

    q_ptr, o_ptr   pointers to (batch, heads_q, seqlen_q, HEAD) float32, contiguous
    k_ptr, v_ptr   pointers to (batch, heads_kv, seqlen_k, HEAD) float32, contiguous
    grid           (cdiv(seqlen_q * group, BLOCK_M), batch * heads_kv); program_id(0) is the tile of packed rows, and
                   program_id(1) is batch * heads_kv + key head

    With CAUSAL query i sees key j if j <= i + seqlen_k - seqlen_q. Each program reads each key at most once. Writes the
    rows of o that exist, and nothing else.
    """
    packed = tl.program_id(0) * BLOCK_M + tl.arange(0, BLOCK_M)
    offs_d = tl.arange(0, BLOCK_D)
    ### BEGIN SOLUTION
    #: # TODO: which query, and which query head, is each packed row? Load the tile q (BLOCK_M, BLOCK_D) from there.
    group = heads_q // heads_kv
    batch, head_kv = tl.program_id(1) // heads_kv, tl.program_id(1) % heads_kv
    query = packed // group  # (BLOCK_M,)
    head = head_kv * group + packed % group  # (BLOCK_M,)
    row_exists = query[:, None] < seqlen_q
    # Numbers of rows in all of q or o; in 64 bits, as their product with HEAD may need them.
    row = (batch * heads_q + head).to(tl.int64) * seqlen_q + query
    q = tl.load(q_ptr + row[:, None] * HEAD + offs_d[None, :], mask=row_exists, other=0.0)  # (BLOCK_M, BLOCK_D)
    first_key = tl.program_id(1).to(tl.int64) * seqlen_k
    ### END SOLUTION
    m_i = tl.full((BLOCK_M,), float("-inf"), tl.float32)
    l_i = tl.zeros((BLOCK_M,), tl.float32)
    acc = tl.zeros((BLOCK_M, BLOCK_D), tl.float32)
    for start_n in range(0, seqlen_k, BLOCK_N):
        offs_n = start_n + tl.arange(0, BLOCK_N)
        ### BEGIN SOLUTION
        #: # TODO: load this chunk of the group's k and v, and take it into m_i, l_i and acc.
        key_exists = offs_n[:, None] < seqlen_k
        kv_offsets = (first_key + offs_n)[:, None] * HEAD + offs_d[None, :]  # (BLOCK_N, BLOCK_D)
        k = tl.load(k_ptr + kv_offsets, mask=key_exists, other=0.0)
        v = tl.load(v_ptr + kv_offsets, mask=key_exists, other=0.0)
        s = tl.dot(q, tl.trans(k), input_precision="ieee") * scale  # (BLOCK_M, BLOCK_N)
        keep = offs_n[None, :] < seqlen_k
        if CAUSAL:
            keep = keep & (offs_n[None, :] <= query[:, None] + seqlen_k - seqlen_q)
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
    #: # TODO: finish the softmax, and store each packed row where it belongs.
    l_safe = tl.where(l_i == 0.0, 1.0, l_i)  # a dead row has acc == 0
    tl.store(o_ptr + row[:, None] * HEAD + offs_d[None, :], acc / l_safe[:, None], mask=row_exists)
    ### END SOLUTION
