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
    # TODO: which keys are this split's? Load the query.
    # TODO: walk over the keys in tiles of BLOCK_N with a running softmax for one row.
    # TODO: finish it and store part_o and part_lse; mind a split without keys.


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
    # TODO: load all partial results of the sequence; what has a lane to hold that is no split?
    # TODO: the share of each split, the sum of their outputs, and the log-sum-exp of all; mind a sequence that has
    # no keys.
