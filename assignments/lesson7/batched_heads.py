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
    # TODO: which batch and which head are this program's? Bring the four pointers there.
    # TODO: load the query tile q (BLOCK_M, BLOCK_D); what does not exist reads as 0.
    m_i = tl.full((BLOCK_M,), float("-inf"), tl.float32)
    l_i = tl.zeros((BLOCK_M,), tl.float32)
    acc = tl.zeros((BLOCK_M, BLOCK_D), tl.float32)
    for start_n in range(0, seqlen_k, BLOCK_N):
        offs_n = start_n + tl.arange(0, BLOCK_N)
        # TODO: load this chunk's k and v, each by its own strides, and take them into m_i, l_i and acc.
    # TODO: finish the softmax, and store o by its own strides, where it exists.
