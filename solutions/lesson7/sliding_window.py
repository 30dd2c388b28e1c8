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
    ### BEGIN SOLUTION
    #: # TODO: load the query tile q (BLOCK_M, BLOCK_D).
    #: # TODO: which keys do the rows of this tile see, from the first to the last? With these two all are read.
    #: start = 0
    #: end = seqlen_k
    q_mask = offs_m[:, None] < seqlen_q
    q = tl.load(q_ptr + offs_m[:, None] * HEAD + offs_d[None, :], mask=q_mask, other=0.0)  # (BLOCK_M, BLOCK_D)
    far = seqlen_q + seqlen_k  # a side without an end is one that reaches past all keys from any query
    left = tl.where(window_left < 0, far, window_left)
    right = tl.where(window_right < 0, far, window_right)
    place = offs_m + (seqlen_k - seqlen_q)  # (BLOCK_M,), where each row stands among the keys
    # The first row reaches back furthest, the last row ahead. Chunks begin at multiples of BLOCK_N, for aligned loads.
    first_place = first_row + seqlen_k - seqlen_q
    start = tl.maximum(first_place - left, 0) // BLOCK_N * BLOCK_N
    end = tl.minimum(first_place + BLOCK_M + right, seqlen_k)
    ### END SOLUTION
    for start_n in range(start, end, BLOCK_N):
        offs_n = start_n + tl.arange(0, BLOCK_N)
        ### BEGIN SOLUTION
        #: # TODO: this chunk's k, v and scores, as in flash_attention_kernel; -inf for ghosts and hidden keys.
        #: # TODO: your online softmax takes the chunk in. For some rows it may be masked throughout, and come first.
        kv_mask = offs_n[:, None] < seqlen_k
        kv_offsets = offs_n[:, None] * HEAD + offs_d[None, :]  # (BLOCK_N, BLOCK_D)
        k = tl.load(k_ptr + kv_offsets, mask=kv_mask, other=0.0)
        v = tl.load(v_ptr + kv_offsets, mask=kv_mask, other=0.0)
        s = tl.dot(q, tl.trans(k), input_precision="ieee") * scale  # (BLOCK_M, BLOCK_N)
        ahead = offs_n[None, :] - place[:, None]  # (BLOCK_M, BLOCK_N), how far a key lies behind the row's own place
        seen = (ahead >= -left) & (ahead <= right) & (offs_n[None, :] < seqlen_k)
        s = tl.where(seen, s, float("-inf"))
        m_new = tl.maximum(m_i, tl.max(s, 1))  # (BLOCK_M,)
        # The stand-in is for the exponents alone. Were it carried on as the maximum, a row that has seen nothing yet
        # would measure its first scores against 0: exp(-120) is 0 in float32, and the row would be lost.
        m_safe = tl.where(m_new == float("-inf"), 0.0, m_new)
        alpha = tl.exp(m_i - m_safe)  # (BLOCK_M,), 0 for a row's first visible chunk
        p = tl.exp(s - m_safe[:, None])  # (BLOCK_M, BLOCK_N)
        l_i = l_i * alpha + tl.sum(p, 1)
        acc = acc * alpha[:, None] + tl.dot(p, v, input_precision="ieee")
        m_i = m_new
        ### END SOLUTION
    ### BEGIN SOLUTION
    #: # TODO: finish the softmax (a dead row has l_i == 0), then store o and lse where the rows exist.
    l_safe = tl.where(l_i == 0.0, 1.0, l_i)  # (BLOCK_M,)
    o = acc / l_safe[:, None]  # (BLOCK_M, BLOCK_D)
    lse = m_i + tl.log(l_safe)  # (BLOCK_M,), -inf for a dead row, as its m_i is
    tl.store(o_ptr + offs_m[:, None] * HEAD + offs_d[None, :], o, mask=offs_m[:, None] < seqlen_q)
    tl.store(lse_ptr + offs_m, lse, mask=offs_m < seqlen_q)
    ### END SOLUTION
