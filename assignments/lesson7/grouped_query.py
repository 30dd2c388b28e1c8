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
    # TODO: which query, and which query head, is each packed row? Load the tile q (BLOCK_M, BLOCK_D) from there.
    m_i = tl.full((BLOCK_M,), float("-inf"), tl.float32)
    l_i = tl.zeros((BLOCK_M,), tl.float32)
    acc = tl.zeros((BLOCK_M, BLOCK_D), tl.float32)
    for start_n in range(0, seqlen_k, BLOCK_N):
        offs_n = start_n + tl.arange(0, BLOCK_N)
        # TODO: load this chunk of the group's k and v, and take it into m_i, l_i and acc.
    # TODO: finish the softmax, and store each packed row where it belongs.
