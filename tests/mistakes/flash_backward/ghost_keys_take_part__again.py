"""Has no mask for ghost keys in the walk over the keys, whose zeros add nothing as a rule.

The same mistake, written another way.
"""

import triton
import triton.language as tl


@triton.jit
def backward_dq_kernel(
    q_ptr,
    k_ptr,
    v_ptr,
    do_ptr,
    lse_ptr,
    delta_ptr,
    dq_ptr,
    seqlen_q,
    seqlen_k,
    HEAD: tl.constexpr,
    scale,
    BLOCK_M: tl.constexpr,
    BLOCK_N: tl.constexpr,
    CAUSAL: tl.constexpr,
):
    row = tl.program_id(0) * BLOCK_M + tl.arange(0, BLOCK_M)
    column = tl.arange(0, HEAD)
    own = row[:, None] * HEAD + column[None, :]
    query = tl.load(q_ptr + own, mask=row[:, None] < seqlen_q, other=0.0)
    grad = tl.load(do_ptr + own, mask=row[:, None] < seqlen_q, other=0.0)
    log_sum = tl.load(lse_ptr + row, mask=row < seqlen_q, other=0.0)
    mean = tl.load(delta_ptr + row, mask=row < seqlen_q, other=0.0)
    total = tl.zeros((BLOCK_M, HEAD), tl.float32)
    for number in range(tl.cdiv(seqlen_k, BLOCK_N)):
        key = number * BLOCK_N + tl.arange(0, BLOCK_N)
        place = key[:, None] * HEAD + column[None, :]
        keys = tl.load(k_ptr + place, mask=key[:, None] < seqlen_k, other=0.0)
        values = tl.load(v_ptr + place, mask=key[:, None] < seqlen_k, other=0.0)
        score = scale * tl.dot(keys, tl.trans(query), input_precision="ieee")  # (BLOCK_N, BLOCK_M)
        seen = (key >= 0)[:, None]
        if CAUSAL:
            seen &= key[:, None] - row[None, :] <= seqlen_k - seqlen_q
        weight = tl.where(seen, tl.exp(score - log_sum[None, :]), 0.0)
        pull = tl.dot(values, tl.trans(grad), input_precision="ieee") - mean[None, :]
        change = weight * pull
        total = total + tl.dot(tl.trans(change), keys, input_precision="ieee")
    tl.store(dq_ptr + own, scale * total, mask=row[:, None] < seqlen_q)
