"""Loads q without a mask: the last tile reads behind the end of the tensor."""

# seen on: cpu

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
    offs_m = tl.program_id(0) * BLOCK_M + tl.arange(0, BLOCK_M)
    offs_n = tl.arange(0, BLOCK_N)
    offs_d = tl.arange(0, BLOCK_D)
    q_tile = offs_m[:, None] * HEAD + offs_d[None, :]
    kv_tile = offs_n[:, None] * HEAD + offs_d[None, :]
    q = tl.load(q_ptr + q_tile)
    k = tl.load(k_ptr + kv_tile, mask=offs_n[:, None] < NSEQ, other=0.0)
    v = tl.load(v_ptr + kv_tile, mask=offs_n[:, None] < NSEQ, other=0.0)
    s = tl.dot(q, tl.trans(k), input_precision="ieee") * scale
    keep = offs_n[None, :] < NSEQ
    if CAUSAL:
        keep = keep & (offs_n[None, :] <= offs_m[:, None])
    s = tl.where(keep, s, float("-inf"))
    m = tl.max(s, 1)
    p = tl.exp(s - m[:, None])
    l = tl.sum(p, 1)
    o = tl.dot(p, v, input_precision="ieee") / l[:, None]
    tl.store(o_ptr + q_tile, o, mask=offs_m[:, None] < NSEQ)
