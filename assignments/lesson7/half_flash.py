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
    # TODO: load the query tile q (BLOCK_M, BLOCK_D); which dtype has it?
    # TODO: the running values m_i, l_i and acc: which dtype does each need?
    for start_n in range(0, seqlen_k, BLOCK_N):
        offs_n = start_n + tl.arange(0, BLOCK_N)
        # TODO: load this chunk's k and v, and take them into m_i, l_i and acc: 16 bits into a product, 32 out of it.
    # TODO: finish the softmax in float32, then store o, which is rounded there and not before, and lse.
