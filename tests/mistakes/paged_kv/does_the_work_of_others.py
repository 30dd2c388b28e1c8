"""Has the first program walk over all sequences; the others do nothing."""

# seen on: cpu

import triton
import triton.language as tl


@triton.jit
def paged_attention_kernel(
    q_ptr,
    k_pages_ptr,
    v_pages_ptr,
    table_ptr,
    seqlens_ptr,
    o_ptr,
    lse_ptr,
    HEADS,
    MAX_PAGES,
    scale,
    HEAD: tl.constexpr,
    PAGE: tl.constexpr,
    BLOCK_H: tl.constexpr,
):
    first = tl.where(tl.program_id(0) == 0, 0, tl.num_programs(0))
    for sequence in range(first, tl.num_programs(0)):
        heads = tl.arange(0, BLOCK_H)
        offs_d = tl.arange(0, HEAD)
        slots = tl.arange(0, PAGE)
        seqlen = tl.load(seqlens_ptr + sequence)
        rows = (sequence * HEADS + heads[:, None]) * HEAD + offs_d[None, :]
        q = tl.load(q_ptr + rows, mask=heads[:, None] < HEADS, other=0.0)
        m_i = tl.full((BLOCK_H,), float("-inf"), tl.float32)
        l_i = tl.zeros((BLOCK_H,), tl.float32)
        acc = tl.zeros((BLOCK_H, HEAD), tl.float32)
        for number in range(tl.cdiv(seqlen, PAGE)):
            page = tl.load(table_ptr + sequence * MAX_PAGES + number).to(tl.int64)
            held = number * PAGE + slots < seqlen
            cells = (page * PAGE + slots[:, None]) * HEAD + offs_d[None, :]
            k = tl.load(k_pages_ptr + cells, mask=held[:, None], other=0.0)
            v = tl.load(v_pages_ptr + cells, mask=held[:, None], other=0.0)
            s = tl.dot(q, tl.trans(k), input_precision="ieee") * scale
            s = tl.where(held[None, :], s, float("-inf"))
            m_new = tl.maximum(m_i, tl.max(s, 1))
            alpha = tl.exp(m_i - m_new)
            p = tl.exp(s - m_new[:, None])
            l_i = l_i * alpha + tl.sum(p, 1)
            acc = acc * alpha[:, None] + tl.dot(p, v, input_precision="ieee")
            m_i = m_new
        divisor = tl.where(l_i == 0.0, 1.0, l_i)
        tl.store(o_ptr + rows, acc / divisor[:, None], mask=heads[:, None] < HEADS)
        lse = m_i + tl.log(divisor)
        tl.store(lse_ptr + sequence * HEADS + heads, lse, mask=heads < HEADS)
