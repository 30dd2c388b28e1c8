"""The last program walks back over all query tiles; the others do nothing."""

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
    tiles = tl.num_programs(0)
    left = tl.where(tl.program_id(0) == tiles - 1, tiles, 0)
    while left > 0:
        left -= 1
        tile = left
        rows = tile * BLOCK_M + tl.arange(0, BLOCK_M)
        dims = tl.arange(0, BLOCK_D)
        real = rows[:, None] < seqlen_q
        q = tl.load(q_ptr + rows[:, None] * HEAD + dims[None, :], mask=real, other=0.0)
        reach = rows + seqlen_k - seqlen_q

        end_n = tl.minimum((tile + 1) * BLOCK_M + seqlen_k - seqlen_q, seqlen_k)
        top = tl.full((BLOCK_M,), float("-inf"), tl.float32)
        total = tl.zeros((BLOCK_M,), tl.float32)
        out = tl.zeros((BLOCK_M, BLOCK_D), tl.float32)
        for start_n in range(0, end_n, BLOCK_N):
            offs_n = start_n + tl.arange(0, BLOCK_N)
            key_exists = offs_n[:, None] < seqlen_k
            k = tl.load(k_ptr + offs_n[:, None] * HEAD + dims[None, :], mask=key_exists, other=0.0)
            v = tl.load(v_ptr + offs_n[:, None] * HEAD + dims[None, :], mask=key_exists, other=0.0)
            s = tl.dot(q, tl.trans(k), input_precision="ieee") * scale

            s = tl.where(offs_n[None, :] <= reach[:, None], s, float("-inf"))
            m_new = tl.maximum(top, tl.max(s, 1))
            m_safe = tl.where(m_new == float("-inf"), 0.0, m_new)
            alpha = tl.exp(top - m_safe)
            p = tl.exp(s - m_safe[:, None])
            total = total * alpha + tl.sum(p, 1)
            out = out * alpha[:, None] + tl.dot(p, v, input_precision="ieee")
            top = m_new
        l_safe = tl.where(total == 0.0, 1.0, total)
        tl.store(o_ptr + rows[:, None] * HEAD + dims[None, :], out / l_safe[:, None], mask=real)
        tl.store(lse_ptr + rows, top + tl.log(l_safe), mask=rows < seqlen_q)
