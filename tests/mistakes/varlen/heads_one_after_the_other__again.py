"""Takes the packed tensors for (HEADS, total, HEAD).

The same mistake, written another way.
"""

import triton
import triton.language as tl


@triton.jit
def varlen_attention_kernel(
    q_ptr,
    k_ptr,
    v_ptr,
    o_ptr,
    lse_ptr,
    cu_seqlens_q_ptr,
    cu_seqlens_k_ptr,
    total_q,
    HEADS,
    HEAD: tl.constexpr,
    scale,
    BLOCK_M: tl.constexpr,
    BLOCK_N: tl.constexpr,
    BLOCK_D: tl.constexpr,
    CAUSAL: tl.constexpr,
):
    LOG2E: tl.constexpr = 1.4426950408889634
    b = tl.program_id(1)
    h = tl.program_id(2)
    from_q = tl.load(cu_seqlens_q_ptr + b)
    to_q = tl.load(cu_seqlens_q_ptr + b + 1)
    from_k = tl.load(cu_seqlens_k_ptr + b)
    to_k = tl.load(cu_seqlens_k_ptr + b + 1)
    queries_here = to_q - from_q
    keys_here = to_k - from_k
    step = HEAD
    query = tl.program_id(0) * BLOCK_M + tl.arange(0, BLOCK_M)
    column = tl.arange(0, BLOCK_D)
    if tl.program_id(0) * BLOCK_M < queries_here:
        inside = query < queries_here
        tile = (from_q + query)[:, None] * step + h * total_q * HEAD + column[None, :]
        queries = tl.load(q_ptr + tile, mask=inside[:, None], other=0.0)
        moving = (
            from_k * step
            + h * tl.load(cu_seqlens_k_ptr + tl.num_programs(1)) * HEAD
            + tl.arange(0, BLOCK_N)[:, None] * step
            + column[None, :]
        )
        best = tl.zeros((BLOCK_M,), tl.float32) - float("inf")
        total = tl.zeros((BLOCK_M,), tl.float32)
        summed = tl.zeros((BLOCK_M, BLOCK_D), tl.float32)
        reach = query + (keys_here - queries_here)
        for chunk in range(tl.cdiv(keys_here, BLOCK_N)):
            key = chunk * BLOCK_N + tl.arange(0, BLOCK_N)
            exists = key < keys_here
            keys = tl.load(k_ptr + moving, mask=exists[:, None], other=0.0)
            values = tl.load(v_ptr + moving, mask=exists[:, None], other=0.0)
            logits = tl.dot(queries, tl.trans(keys), input_precision="ieee") * (scale * LOG2E)
            logits = tl.where(exists[None, :], logits, float("-inf"))
            if CAUSAL:
                logits = tl.where(key[None, :] > reach[:, None], float("-inf"), logits)
            higher = tl.maximum(best, tl.max(logits, axis=1))
            anchor = tl.where(higher > float("-inf"), higher, 0.0)
            shrink = tl.exp2(best - anchor)
            weights = tl.exp2(logits - anchor[:, None])
            total = total * shrink + tl.sum(weights, axis=1)
            summed = summed * shrink[:, None]
            summed = tl.dot(weights, values, acc=summed, input_precision="ieee")
            best = higher
            moving += BLOCK_N * step
        empty = total == 0.0
        divisor = tl.where(empty, 1.0, total)
        result = summed / divisor[:, None]
        tl.store(o_ptr + tile, result, mask=inside[:, None])
        tl.store(lse_ptr + h * total_q + from_q + query, (best + tl.log2(divisor)) / LOG2E, mask=inside)
