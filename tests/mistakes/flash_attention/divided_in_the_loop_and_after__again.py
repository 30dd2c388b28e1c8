"""Divides acc by l at every chunk, and once more after the loop.

The same mistake, written another way.
"""

import triton
import triton.language as tl


@triton.jit
def read_rows(matrix, index, columns, count, WIDTH: tl.constexpr):
    """Rows ``index`` of a (count, WIDTH) matrix, 0 beyond its end."""
    return tl.load(matrix + index[:, None] * WIDTH + columns[None, :], mask=index[:, None] < count, other=0.0)


@triton.jit
def flash_attention_kernel(
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
    LOG2E: tl.constexpr = 1.4426950408889634
    query = tl.program_id(0) * BLOCK_M + tl.arange(0, BLOCK_M)
    lane = tl.arange(0, BLOCK_N)
    column = tl.arange(0, BLOCK_D)
    queries = read_rows(q_ptr, query, column, seqlen_q, HEAD)
    best = tl.zeros((BLOCK_M,), tl.float32) - float("inf")
    total = tl.zeros((BLOCK_M,), tl.float32)
    summed = tl.zeros((BLOCK_M, BLOCK_D), tl.float32)
    first = 0
    while first < seqlen_k:
        key = first + lane
        keys = read_rows(k_ptr, key, column, seqlen_k, HEAD)
        values = read_rows(v_ptr, key, column, seqlen_k, HEAD)
        logits = tl.dot(queries, tl.trans(keys), input_precision="ieee") * scale
        visible = (key < seqlen_k)[None, :]
        if CAUSAL:
            reach = query + (seqlen_k - seqlen_q)
            visible = visible & (reach[:, None] >= key[None, :])
        logits = tl.where(visible, logits, float("-inf"))
        higher = tl.maximum(best, tl.max(logits, axis=1))
        anchor = tl.where(higher == float("-inf"), 0.0, higher)
        shrink = tl.exp2((best - anchor) * LOG2E)
        weights = tl.exp2((logits - anchor[:, None]) * LOG2E)
        total = total * shrink + tl.sum(weights, axis=1)
        summed = summed * shrink[:, None]
        summed = tl.dot(weights, values, acc=summed, input_precision="ieee")
        best = higher
        summed /= total[:, None]
        first += BLOCK_N
    empty = total == 0.0
    divisor = tl.where(empty, 1.0, total)
    inside = query < seqlen_q
    result = summed / divisor[:, None]
    tl.store(o_ptr + query[:, None] * HEAD + column[None, :], result, mask=inside[:, None])
    tl.store(lse_ptr + query, best + tl.log(divisor), mask=inside)
