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
    # TODO: load the query tile q (BLOCK_M, BLOCK_D).
    # TODO: which is the last key that a row of this tile sees? Walk over the chunks up to it, and no further.
    # TODO: finish the softmax, and store o and lse where the rows exist.
