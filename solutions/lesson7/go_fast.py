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

### BEGIN SOLUTION
#: # TODO: the settings that make your kernel fast. These are right for no kernel in particular.
#: LAUNCH = {
#:     64: {"BLOCK_M": 64, "BLOCK_N": 64, "num_warps": 4, "num_stages": 2, "descriptors": False, "programs": 0},
#:     128: {"BLOCK_M": 64, "BLOCK_N": 64, "num_warps": 4, "num_stages": 2, "descriptors": False, "programs": 0},
#: }
# Programs of four warps, two or more of which share a multiprocessor: while one is at its softmax, another has the
# tensor cores. Two warpgroups in one program take turns worse.
LAUNCH = {  # of those that `python benchmarks/attention_sweep.py` tries
    64: {"BLOCK_M": 64, "BLOCK_N": 128, "num_warps": 4, "num_stages": 2, "descriptors": True, "programs": 0},
    128: {"BLOCK_M": 128, "BLOCK_N": 64, "num_warps": 4, "num_stages": 2, "descriptors": True, "programs": 0},
}  # one table for each HEAD
GROUP = tl.constexpr(16)  # with a causal mask, so many heads take their longest tiles first, together
### END SOLUTION


@triton.jit
def attend(acc, m_i, l_i, q, k, v, base, start, end, offs_m, scale, BLOCK_N: tl.constexpr, MASKED: tl.constexpr):
    """A tile of queries meets the chunks of keys from ``start`` to ``end``, with or without the causal mask.

    acc (BLOCK_M, HEAD), m_i and l_i (BLOCK_M,) are the running state, which comes back updated.  q (BLOCK_M, HEAD) is a
    tile; k and v are what the kernel was given, and the head's rows begin at ``base``.  A proposal: the kernel below is
    what is graded, and you may do without this one.
    """
    ### BEGIN SOLUTION
    #: # TODO: the loop over chunks, as in Part B.
    for start_n in tl.range(start, end, BLOCK_N):
        k_tile = k.load([base + start_n, 0])  # (BLOCK_N, HEAD)
        s = tl.dot(q, k_tile.T)  # (BLOCK_M, BLOCK_N)
        if MASKED:
            offs_n = start_n + tl.arange(0, BLOCK_N)
            s = tl.where(offs_m[:, None] >= offs_n[None, :], s, float("-inf"))
        # exp2 is what the hardware has. log2(e) is in the scale, and the scale is applied where the maximum is taken
        # off: a single multiply-add for each score.
        m_new = tl.maximum(m_i, tl.max(s, 1) * scale)  # (BLOCK_M,)
        p = tl.math.exp2(s * scale - m_new[:, None])  # (BLOCK_M, BLOCK_N)
        alpha = tl.math.exp2(m_i - m_new)  # (BLOCK_M,)
        l_i = l_i * alpha + tl.sum(p, 1)
        m_i = m_new
        v_tile = v.load([base + start_n, 0])  # (BLOCK_N, HEAD)
        acc = tl.dot(p.to(v_tile.dtype), v_tile, acc * alpha[:, None])
    ### END SOLUTION
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
    ### BEGIN SOLUTION
    #: # TODO: whose tile of queries is this program's?
    #: # TODO: the loop over chunks of keys, as in Part B. Then make it fast: `grade hint go_fast` knows where to begin.
    #: # TODO: store o, in its own dtype, and lse.
    tiles = NSEQ // BLOCK_M
    head = tl.program_id(0) // tiles
    tile = tl.program_id(0) % tiles
    if CAUSAL:
        # The longest first, so that no long tile is left for the end; of a few heads at a time, whose keys and values
        # stay in the cache.
        group = tl.where(HEADS % GROUP == 0, GROUP, 1)
        within = tl.program_id(0) % (tiles * group)
        head = tl.program_id(0) // (tiles * group) * group + within % group
        tile = tiles - 1 - within // group
    base = head * NSEQ
    row = tile * BLOCK_M
    offs_m = row + tl.arange(0, BLOCK_M)
    scale = scale * 1.4426950408889634  # log2(e)
    q_tile = q.load([base + row, 0])  # (BLOCK_M, HEAD)
    m_i = tl.full((BLOCK_M,), float("-inf"), tl.float32)
    l_i = tl.zeros((BLOCK_M,), tl.float32)
    acc = tl.zeros((BLOCK_M, HEAD), tl.float32)
    if CAUSAL:
        # Chunks that lie wholly in the past need no mask; only those that meet the diagonal do.
        below = row // BLOCK_N * BLOCK_N
        acc, m_i, l_i = attend(acc, m_i, l_i, q_tile, k, v, base, 0, below, offs_m, scale, BLOCK_N, False)
        end = row + BLOCK_M
        acc, m_i, l_i = attend(acc, m_i, l_i, q_tile, k, v, base, below, end, offs_m, scale, BLOCK_N, True)
    else:
        acc, m_i, l_i = attend(acc, m_i, l_i, q_tile, k, v, base, 0, NSEQ, offs_m, scale, BLOCK_N, False)
    out = acc / l_i[:, None]
    o.store([base + row, 0], out.to(o.dtype))
    tl.store(lse_ptr + base + offs_m, (m_i + tl.math.log2(l_i)) * 0.6931471805599453)  # ln 2
    ### END SOLUTION
