"""Lesson 7, for those who want more: attention in half precision, as fast as you can make it.

    o = softmax(scale * q k^T) v        over all heads, one program for each tile of queries

What it computes is Part B.  What counts here is how long it takes, beside the flash backend of torch on the same GPU.

Shapes: q, k, v and o are (HEADS * NSEQ, HEAD), bfloat16 or float16, contiguous; head h owns the rows h * NSEQ to
(h + 1) * NSEQ - 1, and attends only to itself.  NSEQ is a multiple of 256, so that no tile is ragged; HEAD is 64 or
128.

LAUNCH says how the kernel is launched, for each HEAD.  It is part of your answer, and read as data: write numbers, no
expressions.  With "descriptors": True the kernel gets q, k, v and o as tensor descriptors with tiles of (BLOCK_M, HEAD)
for q and o and (BLOCK_N, HEAD) for k and v, so that `k.load([row, 0])` is the tile from that row on; with False they
are pointers.  "programs" bounds the number of programs: with 0 there is one for each tile of queries.
"""

import triton
import triton.language as tl

# TODO: the settings that make your kernel fast. These are right for no kernel in particular.
LAUNCH = {
    64: {"BLOCK_M": 64, "BLOCK_N": 64, "num_warps": 4, "num_stages": 2, "descriptors": False, "programs": 0},
    128: {"BLOCK_M": 64, "BLOCK_N": 64, "num_warps": 4, "num_stages": 2, "descriptors": False, "programs": 0},
}


@triton.jit
def attend(acc, m_i, l_i, q, k, v, base, start, end, offs_m, scale, BLOCK_N: tl.constexpr, MASKED: tl.constexpr):
    """A tile of queries meets the chunks of keys from ``start`` to ``end``, with or without the causal mask.

    acc (BLOCK_M, HEAD), m_i and l_i (BLOCK_M,) are the running state, which comes back updated.  q (BLOCK_M, HEAD) is a
    tile; k and v are what the kernel was given, and the head's rows begin at ``base``.  A proposal: the kernel below is
    what is graded, and you may do without this one.
    """
    # TODO: the loop over chunks, as in Part B.
    return acc, m_i, l_i


@triton.jit
def go_fast_kernel(
    q,
    k,
    v,
    o,
    lse_ptr,
    NSEQ,
    HEADS,
    scale,
    HEAD: tl.constexpr,
    BLOCK_M: tl.constexpr,
    BLOCK_N: tl.constexpr,
    CAUSAL: tl.constexpr,
):
    """Attention of all heads.

    q, k, v, o  (HEADS * NSEQ, HEAD), as pointers or as tensor descriptors: LAUNCH decides
    lse_ptr     pointer to (HEADS * NSEQ,) float32, the natural log-sum-exp of each row's scores
    scale       what scores are multiplied by
    grid        (HEADS * NSEQ // BLOCK_M,), or "programs" if that is less

    Writes every row of o and lse.
    """
    # TODO: whose tile of queries is this program's?
    # TODO: the loop over chunks of keys, as in Part B. Then make it fast: `grade hint go_fast` knows where to begin.
    # TODO: store o, in its own dtype, and lse.
