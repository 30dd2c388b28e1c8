"""Has the first program walk over all query tiles; the others do nothing."""

# seen on: cpu

import triton
import triton.language as tl


@triton.jit
def causal_attention_kernel(
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
):
    first = tl.where(tl.program_id(0) == 0, 0, tl.num_programs(0))
    for tile in range(first, tl.num_programs(0)):
        offs_m = tile * BLOCK_M + tl.arange(0, BLOCK_M)
        offs_d = tl.arange(0, BLOCK_D)
        row_exists = offs_m[:, None] < seqlen_q
        q = tl.load(q_ptr + offs_m[:, None] * HEAD + offs_d[None, :], mask=row_exists, other=0.0)
        reach = offs_m + seqlen_k - seqlen_q

        end_n = tl.minimum((tile + 1) * BLOCK_M + seqlen_k - seqlen_q, seqlen_k)
        m_i = tl.full((BLOCK_M,), float("-inf"), tl.float32)
        l_i = tl.zeros((BLOCK_M,), tl.float32)
        acc = tl.zeros((BLOCK_M, BLOCK_D), tl.float32)
        for start_n in range(0, end_n, BLOCK_N):
            offs_n = start_n + tl.arange(0, BLOCK_N)
            key_exists = offs_n[:, None] < seqlen_k
            k = tl.load(k_ptr + offs_n[:, None] * HEAD + offs_d[None, :], mask=key_exists, other=0.0)
            v = tl.load(v_ptr + offs_n[:, None] * HEAD + offs_d[None, :], mask=key_exists, other=0.0)
            s = tl.dot(q, tl.trans(k), input_precision="ieee") * scale

            s = tl.where(offs_n[None, :] <= reach[:, None], s, float("-inf"))
            m_new = tl.maximum(m_i, tl.max(s, 1))
            m_safe = tl.where(m_new == float("-inf"), 0.0, m_new)
            alpha = tl.exp(m_i - m_safe)
            p = tl.exp(s - m_safe[:, None])
            l_i = l_i * alpha + tl.sum(p, 1)
            acc = acc * alpha[:, None] + tl.dot(p, v, input_precision="ieee")
            m_i = m_new
        l_safe = tl.where(l_i == 0.0, 1.0, l_i)
        tl.store(o_ptr + offs_m[:, None] * HEAD + offs_d[None, :], acc / l_safe[:, None], mask=row_exists)
        tl.store(lse_ptr + offs_m, m_i + tl.log(l_safe), mask=offs_m < seqlen_q)
