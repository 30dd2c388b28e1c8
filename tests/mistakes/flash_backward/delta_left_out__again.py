"""Leaves delta out of ds.

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
        seen = (key < seqlen_k)[:, None]
        if CAUSAL:
            seen &= key[:, None] - row[None, :] <= seqlen_k - seqlen_q
        weight = tl.where(seen, tl.exp(score - log_sum[None, :]), 0.0)
        pull = tl.dot(values, tl.trans(grad), input_precision="ieee")
        change = weight * pull
        total = total + tl.dot(tl.trans(change), keys, input_precision="ieee")
    tl.store(dq_ptr + own, scale * total, mask=row[:, None] < seqlen_q)


@triton.jit
def backward_dkdv_kernel(
    q_ptr,
    k_ptr,
    v_ptr,
    do_ptr,
    lse_ptr,
    delta_ptr,
    dk_ptr,
    dv_ptr,
    seqlen_q,
    seqlen_k,
    HEAD: tl.constexpr,
    scale,
    BLOCK_M: tl.constexpr,
    BLOCK_N: tl.constexpr,
    CAUSAL: tl.constexpr,
):
    key = tl.program_id(0) * BLOCK_N + tl.arange(0, BLOCK_N)
    column = tl.arange(0, HEAD)
    own = key[:, None] * HEAD + column[None, :]
    keys = tl.load(k_ptr + own, mask=key[:, None] < seqlen_k, other=0.0)
    values = tl.load(v_ptr + own, mask=key[:, None] < seqlen_k, other=0.0)
    key_grad = tl.zeros((BLOCK_N, HEAD), tl.float32)
    value_grad = tl.zeros((BLOCK_N, HEAD), tl.float32)
    for number in range(tl.cdiv(seqlen_q, BLOCK_M)):
        row = number * BLOCK_M + tl.arange(0, BLOCK_M)
        real = row < seqlen_q
        place = row[:, None] * HEAD + column[None, :]
        query = tl.load(q_ptr + place, mask=real[:, None], other=0.0)
        grad = tl.load(do_ptr + place, mask=real[:, None], other=0.0)
        log_sum = tl.load(lse_ptr + row, mask=real, other=0.0)[:, None]
        mean = tl.load(delta_ptr + row, mask=real, other=0.0)[:, None]
        score = scale * tl.dot(query, tl.trans(keys), input_precision="ieee")  # (BLOCK_M, BLOCK_N)
        seen = real[:, None]
        if CAUSAL:
            seen = seen & (key[None, :] - row[:, None] <= seqlen_k - seqlen_q)
        weight = tl.where(seen, tl.exp(score - log_sum), 0.0)
        value_grad = value_grad + tl.dot(tl.trans(weight), grad, input_precision="ieee")
        pull = tl.dot(grad, tl.trans(values), input_precision="ieee")
        change = weight * pull
        key_grad = key_grad + tl.dot(tl.trans(change), query, input_precision="ieee")
    tl.store(dk_ptr + own, scale * key_grad, mask=key[:, None] < seqlen_k)
    tl.store(dv_ptr + own, value_grad, mask=key[:, None] < seqlen_k)
