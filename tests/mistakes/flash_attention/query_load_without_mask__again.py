"""Loads q without a mask: the last tile reads behind the end of the tensor.

The same mistake, written another way.
"""

# seen on: cpu

import triton
import triton.language as tl


@triton.jit
def masked(s, row, col, seqlen_q, seqlen_k, CAUSAL: tl.constexpr):
    """-inf where there is no key or, if CAUSAL, where the key lies in the future."""
    s = tl.where(col[None, :] < seqlen_k, s, float("-inf"))
    if CAUSAL:
        s = tl.where(row[:, None] - col[None, :] >= seqlen_q - seqlen_k, s, float("-inf"))
    return s


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
    row = tl.program_id(0) * BLOCK_M + tl.arange(0, BLOCK_M)
    n = tl.arange(0, BLOCK_N)
    d = tl.arange(0, BLOCK_D)
    row_exists = row < seqlen_q
    q = tl.load(q_ptr + row[:, None] * HEAD + d[None, :])
    k_ptrs = k_ptr + n[None, :] * HEAD + d[:, None]
    v_ptrs = v_ptr + n[:, None] * HEAD + d[None, :]
    m = tl.full((BLOCK_M,), float("-inf"), tl.float32)
    l = tl.zeros((BLOCK_M,), tl.float32)
    o = tl.zeros((BLOCK_M, BLOCK_D), tl.float32)
    for chunk in range(tl.cdiv(seqlen_k, BLOCK_N)):
        col = chunk * BLOCK_N + n
        kt = tl.load(k_ptrs, mask=(col < seqlen_k)[None, :], other=0.0)
        v = tl.load(v_ptrs, mask=(col < seqlen_k)[:, None], other=0.0)
        s = tl.dot(q, kt, input_precision="ieee") * scale
        s = masked(s, row, col, seqlen_q, seqlen_k, CAUSAL)
        m, l, o = online_softmax_update(m, l, o, s, v)
        k_ptrs += BLOCK_N * HEAD
        v_ptrs += BLOCK_N * HEAD
    dead = l == 0.0
    l = tl.where(dead, 1.0, l)
    tl.store(o_ptr + row[:, None] * HEAD + d[None, :], o / l[:, None], mask=row_exists[:, None])
    tl.store(lse_ptr + row, tl.where(dead, float("-inf"), m + tl.log(l)), mask=row_exists)
