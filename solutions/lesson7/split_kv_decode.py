"""Lesson 7: attention of one new token over a long cache, with the keys split among programs.

When a model decodes, each sequence has one query and a cache of thousands of keys. A program a query leaves most of the
GPU idle, so the cache is cut into splits with a program each. A split's program does what flash_attention_kernel does,
for one row and for its own keys only:

    m, l, acc = -inf, 0, 0
    for each tile of the split's keys: scores, new maximum, rescale l and acc, add the tile
    partial output = acc / l, partial log-sum-exp = m + log(l)

The second kernel joins the partial results of a query. A split's log-sum-exp says how much its softmax was divided by,
and that is all it takes to give each split its share.

Shapes: q and o are (BATCH, HEAD), k and v (BATCH, CAPACITY, HEAD), seqlens is (BATCH,) int32, lse (BATCH,), the partial
results are part_o (BATCH, SPLITS, HEAD) and part_lse (BATCH, SPLITS); float32 but for seqlens, contiguous. HEAD is a
power of two. Sequence b has seqlens[b] keys, from 0 to CAPACITY; what lies behind them in its cache is left over from
others and may be anything. Split s has the keys from s * CHUNK up to (s + 1) * CHUNK, as far as the sequence goes.
"""

import triton
import triton.language as tl


@triton.jit
def split_kv_kernel(
    q_ptr,
    k_ptr,
    v_ptr,
    seqlens_ptr,
    part_o_ptr,
    part_lse_ptr,
    CAPACITY,
    CHUNK,
    SPLITS,
    scale,
    HEAD: tl.constexpr,
    BLOCK_N: tl.constexpr,
):
    """The softmax average of v over one split's keys, and its log-sum-exp, for one sequence's query.

    q_ptr         pointer to (BATCH, HEAD) float32
    k_ptr, v_ptr  pointers to (BATCH, CAPACITY, HEAD) float32
    seqlens_ptr   pointer to (BATCH,) int32: how many keys a sequence has
    part_o_ptr    pointer to (BATCH, SPLITS, HEAD) float32
    part_lse_ptr  pointer to (BATCH, SPLITS) float32: the natural log-sum-exp of the split's scores, scale * q.k
    CHUNK         keys a split has at most; need be no multiple of BLOCK_N
    grid          (BATCH, SPLITS); program_id(0) is the sequence, program_id(1) the split

    A split without keys has part_o = 0 and part_lse = -inf. Reads each of its keys and values once, in tiles of at most
    BLOCK_N. Writes its own part_o and part_lse, and nothing else.
    """
    sequence = tl.program_id(0).to(tl.int64)  # a cache may have more than 2^31 elements
    split = tl.program_id(1)
    offs_d = tl.arange(0, HEAD)
    ### BEGIN SOLUTION
    #: # TODO: which keys are this split's? Load the query.
    #: # TODO: walk over the keys in tiles of BLOCK_N with a running softmax for one row.
    #: # TODO: finish it and store part_o and part_lse; mind a split without keys.
    first = split * CHUNK
    last = tl.minimum(first + CHUNK, tl.load(seqlens_ptr + sequence))
    q = tl.load(q_ptr + sequence * HEAD + offs_d)  # (HEAD,)
    m = float("-inf")
    l = 0.0
    acc = tl.zeros((HEAD,), tl.float32)
    for start in range(first, last, BLOCK_N):
        keys = start + tl.arange(0, BLOCK_N)
        mine = keys < last  # (BLOCK_N,), the first one always: no tile is masked throughout
        cells = (sequence * CAPACITY + keys[:, None]) * HEAD + offs_d[None, :]  # (BLOCK_N, HEAD)
        k = tl.load(k_ptr + cells, mask=mine[:, None], other=0.0)
        v = tl.load(v_ptr + cells, mask=mine[:, None], other=0.0)
        # One query makes no tile of queries, and tl.dot wants one: products and sums do.
        s = tl.where(mine, tl.sum(k * q[None, :], 1) * scale, float("-inf"))  # (BLOCK_N,)
        m_new = tl.maximum(m, tl.max(s, 0))
        alpha = tl.exp(m - m_new)
        p = tl.exp(s - m_new)  # (BLOCK_N,)
        l = l * alpha + tl.sum(p, 0)
        acc = acc * alpha + tl.sum(p[:, None] * v, 0)
        m = m_new
    divisor = tl.where(l == 0.0, 1.0, l)  # no key, no sum
    place = sequence * SPLITS + split
    tl.store(part_o_ptr + place * HEAD + offs_d, acc / divisor)
    tl.store(part_lse_ptr + place, m + tl.log(divisor))  # -inf stays -inf
    ### END SOLUTION


@triton.jit
def combine_splits_kernel(
    part_o_ptr,
    part_lse_ptr,
    o_ptr,
    lse_ptr,
    SPLITS,
    HEAD: tl.constexpr,
    BLOCK_S: tl.constexpr,
):
    """The attention of one sequence's query over all its keys, from the partial results of its splits.

    part_o_ptr    pointer to (BATCH, SPLITS, HEAD) float32
    part_lse_ptr  pointer to (BATCH, SPLITS) float32, -inf for a split without keys
    o_ptr         pointer to (BATCH, HEAD) float32
    lse_ptr       pointer to (BATCH,) float32
    BLOCK_S       a power of two, at least SPLITS
    grid          (BATCH,); program_id(0) is the sequence

    A sequence without keys has o = 0 and lse = -inf. Writes its own o and lse, and nothing else.
    """
    sequence = tl.program_id(0)
    offs_d = tl.arange(0, HEAD)
    ### BEGIN SOLUTION
    #: # TODO: load all partial results of the sequence; what has a lane to hold that is no split?
    #: # TODO: the share of each split, the sum of their outputs, and the log-sum-exp of all; mind a sequence that has
    #: # no keys.
    splits = tl.arange(0, BLOCK_S)
    place = sequence * SPLITS + splits
    part_lse = tl.load(part_lse_ptr + place, mask=splits < SPLITS, other=float("-inf"))  # (BLOCK_S,)
    top = tl.max(part_lse, 0)
    base = tl.where(top == float("-inf"), 0.0, top)  # nobody has a key: any finite number does
    weight = tl.exp(part_lse - base)  # (BLOCK_S,), how much each split's softmax was divided by
    total = tl.sum(weight, 0)
    divisor = tl.where(total == 0.0, 1.0, total)
    part_o = tl.load(
        part_o_ptr + place[:, None] * HEAD + offs_d[None, :], mask=splits[:, None] < SPLITS, other=0.0
    )  # (BLOCK_S, HEAD)
    o = tl.sum(part_o * weight[:, None], 0) / divisor
    tl.store(o_ptr + sequence * HEAD + offs_d, o)
    tl.store(lse_ptr + sequence, top + tl.log(divisor))  # -inf stays -inf
    ### END SOLUTION
