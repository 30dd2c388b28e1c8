"""Makes the slopes from the number of the head, and does not read them.

The same mistake, written another way.
"""

import triton
import triton.language as tl


@triton.jit
def head_rows(matrix, head, index, columns, count, WIDTH: tl.constexpr):
    """Rows ``index`` of one head of a (heads, count, WIDTH) tensor, 0 beyond the head's end."""
    start = matrix + head * count * WIDTH
    return tl.load(start + index[:, None] * WIDTH + columns[None, :], mask=index[:, None] < count, other=0.0)


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
    LOG2E: tl.constexpr = 1.4426950408889634
    h = tl.program_id(1)
    query = tl.program_id(0) * BLOCK_M + tl.arange(0, BLOCK_M)
    column = tl.arange(0, BLOCK_D)
    inside = query < seqlen_q
    queries = head_rows(q_ptr, h, query, column, seqlen_q, HEAD)
    rate = tl.exp2(-8.0 / tl.num_programs(1) * (h + 1))
    place = query + seqlen_k - seqlen_q
    biases = bias_ptr + h * stride_bh + query[:, None] * stride_bm + tl.arange(0, BLOCK_N)[None, :]
    best = tl.zeros((BLOCK_M,), tl.float32) - float("inf")
    total = tl.zeros((BLOCK_M,), tl.float32)
    summed = tl.zeros((BLOCK_M, BLOCK_D), tl.float32)
    first = 0
    while first < seqlen_k:
        key = first + tl.arange(0, BLOCK_N)
        keys = head_rows(k_ptr, h, key, column, seqlen_k, HEAD)
        values = head_rows(v_ptr, h, key, column, seqlen_k, HEAD)
        exists = inside[:, None] & (key[None, :] < seqlen_k)
        added = tl.load(biases, mask=exists, other=float("-inf"))
        gap = place[:, None] - key[None, :]
        gap = tl.where(gap < 0, -gap, gap)
        added -= rate * gap
        logits = tl.dot(queries, tl.trans(keys), input_precision="ieee")
        logits = (logits * scale + added) * LOG2E
        if CAUSAL:
            logits = tl.where(key[None, :] > place[:, None], float("-inf"), logits)
        higher = tl.maximum(best, tl.max(logits, axis=1))
        anchor = tl.where(higher > float("-inf"), higher, 0.0)
        shrink = tl.exp2(best - anchor)
        weights = tl.exp2(logits - anchor[:, None])
        total = total * shrink + tl.sum(weights, axis=1)
        summed = summed * shrink[:, None]
        summed = tl.dot(weights, values, acc=summed, input_precision="ieee")
        best = higher
        biases += BLOCK_N
        first += BLOCK_N
    empty = total == 0.0
    divisor = tl.where(empty, 1.0, total)
    result = summed / divisor[:, None]
    row = h * seqlen_q + query
    tl.store(o_ptr + row[:, None] * HEAD + column[None, :], result, mask=inside[:, None])
    tl.store(lse_ptr + row, (best + tl.log2(divisor)) / LOG2E, mask=inside)
