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
    # TODO: where does this program's head begin, in q, k, v, o, lse, and in the bias?
    # TODO: load the head's slope, and the query tile q (BLOCK_M, BLOCK_D).
    for start_n in range(0, seqlen_k, BLOCK_N):
        offs_n = start_n + tl.arange(0, BLOCK_N)
        # TODO: this chunk's k, v and q k^T, scaled, as in flash_attention_kernel.
        # TODO: load the bias of the chunk (BLOCK_M, BLOCK_N), add it, and take off ALiBi's share.
        # TODO: -inf for ghosts and, if CAUSAL, the future. Then your online softmax; a chunk may be -inf throughout.
    # TODO: finish the softmax (a dead row has l_i == 0), then store o and lse where the rows exist.
