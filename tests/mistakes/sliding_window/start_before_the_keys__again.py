"""Begins the loop before the first key.

The same mistake, written another way.
"""

import triton
import triton.language as tl


@triton.jit
def read_rows(matrix, index, columns, count, WIDTH: tl.constexpr):
    """Rows ``index`` of a (count, WIDTH) matrix, 0 beyond its end."""
    return tl.load(matrix + index[:, None] * WIDTH + columns[None, :], mask=index[:, None] < count, other=0.0)


@triton.jit
def sliding_window_kernel(
    q_ptr,
    k_ptr,
    v_ptr,
    o_ptr,
    lse_ptr,
    seqlen_q,
    seqlen_k,
    window_left,
    window_right,
    HEAD: tl.constexpr,
    scale,
    BLOCK_M: tl.constexpr,
    BLOCK_N: tl.constexpr,
    BLOCK_D: tl.constexpr,
):
    LOG2E: tl.constexpr = 1.4426950408889634
    query = tl.program_id(0) * BLOCK_M + tl.arange(0, BLOCK_M)
    column = tl.arange(0, BLOCK_D)
    queries = read_rows(q_ptr, query, column, seqlen_q, HEAD)
    top = tl.program_id(0) * BLOCK_M + seqlen_k - seqlen_q
    lowest = query + seqlen_k - seqlen_q - window_left
    highest = query + seqlen_k - seqlen_q + window_right
    lowest = tl.where(window_left == -1, 0, lowest)
    highest = tl.where(window_right == -1, seqlen_k, highest)
    first = tl.where(window_left == -1, 0, top - window_left)
    last = tl.where(window_right == -1, seqlen_k, tl.minimum(seqlen_k, top + window_right + BLOCK_M))
    best = tl.zeros((BLOCK_M,), tl.float32) - float("inf")
    total = tl.zeros((BLOCK_M,), tl.float32)
    summed = tl.zeros((BLOCK_M, BLOCK_D), tl.float32)
    while first < last:
        key = first + tl.arange(0, BLOCK_N)
        keys = read_rows(k_ptr, key, column, seqlen_k, HEAD)
        values = read_rows(v_ptr, key, column, seqlen_k, HEAD)
        logits = tl.dot(queries, tl.trans(keys), input_precision="ieee") * (scale * LOG2E)
        within = (key < seqlen_k)[None, :]
        within = within & (key[None, :] >= lowest[:, None])
        within = within & (key[None, :] <= highest[:, None])
        logits = tl.where(within, logits, float("-inf"))
        higher = tl.maximum(best, tl.max(logits, axis=1))
        anchor = tl.where(higher > float("-inf"), higher, 0.0)
        shrink = tl.exp2(best - anchor)
        weights = tl.exp2(logits - anchor[:, None])
        total = total * shrink + tl.sum(weights, axis=1)
        summed = summed * shrink[:, None]
        summed = tl.dot(weights, values, acc=summed, input_precision="ieee")
        best = higher
        first += BLOCK_N
    empty = total == 0.0
    divisor = tl.where(empty, 1.0, total)
    inside = query < seqlen_q
    result = summed / divisor[:, None]
    tl.store(o_ptr + query[:, None] * HEAD + column[None, :], result, mask=inside[:, None])
    tl.store(lse_ptr + query, (best + tl.log2(divisor)) / LOG2E, mask=inside)
