"""Takes the rows of a query tile one by one, with one walk over the keys for each."""

# may be called: keys_read_again

import triton
import triton.language as tl


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
    offs_d = tl.arange(0, BLOCK_D)
    base = tl.program_id(0) * BLOCK_M
    for r in range(base, tl.minimum(base + BLOCK_M, seqlen_q)):
        q = tl.load(q_ptr + r * HEAD + offs_d)
        m = tl.max(q, 0) * 0.0 - float("inf")
        l = m * 0.0
        l = tl.sum(q, 0) * 0.0
        acc = tl.zeros((BLOCK_D,), tl.float32)
        end = seqlen_k
        if CAUSAL:
            end = tl.minimum(seqlen_k, r + 1 + seqlen_k - seqlen_q)
        for start_n in range(0, end, BLOCK_N):
            n = start_n + tl.arange(0, BLOCK_N)
            ok = n < end
            k = tl.load(k_ptr + n[:, None] * HEAD + offs_d[None, :], mask=ok[:, None], other=0.0)
            v = tl.load(v_ptr + n[:, None] * HEAD + offs_d[None, :], mask=ok[:, None], other=0.0)
            s = tl.where(ok, tl.sum(k * q[None, :], 1) * scale, float("-inf"))
            mn = tl.maximum(m, tl.max(s, 0))
            a = tl.exp(m - mn)
            p = tl.exp(s - mn)
            l = l * a + tl.sum(p, 0)
            acc = acc * a + tl.sum(p[:, None] * v, 0)
            m = mn
        if l > 0:
            tl.store(o_ptr + r * HEAD + offs_d, acc / l)
            tl.store(lse_ptr + r, m + tl.log(l))
        else:
            tl.store(o_ptr + r * HEAD + offs_d, acc)
            tl.store(lse_ptr + r, float("-inf"))
