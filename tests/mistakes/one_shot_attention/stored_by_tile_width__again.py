"""Stores rows BLOCK_N apart, where o has HEAD elements a row.

The same mistake, written another way.
"""

import triton
import triton.language as tl


@triton.jit
def attention_kernel(
    q_ptr,
    k_ptr,
    v_ptr,
    o_ptr,
    NSEQ,
    HEAD: tl.constexpr,
    scale,
    BLOCK_M: tl.constexpr,
    BLOCK_N: tl.constexpr,
    BLOCK_D: tl.constexpr,
    CAUSAL: tl.constexpr,
):
    first = BLOCK_M * tl.program_id(0)
    query = first + tl.arange(0, BLOCK_M)
    key = tl.arange(0, BLOCK_N)
    column = tl.arange(0, BLOCK_D)
    queries, keys, values = load_tiles(q_ptr, k_ptr, v_ptr, query, key, column, NSEQ, HEAD)
    logits = tl.dot(queries, keys.T, input_precision="ieee")
    logits = mask_scores(logits * scale, query, key, NSEQ, CAUSAL)
    top = pin_ghost_rows(logits, query, NSEQ)
    weights = tl.exp2((logits - top[:, None]) * 1.4426950408889634)
    total = tl.sum(weights, axis=1)[:, None]
    weights = weights / tl.where(total > 0.0, total, 1.0)
    result = tl.dot(weights, values, input_precision="ieee")
    out = o_ptr + BLOCK_N * query[:, None] + column[None, :]
    tl.store(out, result, mask=(query < NSEQ)[:, None])
