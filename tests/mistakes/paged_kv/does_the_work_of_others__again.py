"""Every program does the work of all."""

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
    for sequence in range(tl.num_programs(0)):
        lanes = tl.arange(0, BLOCK_H)
        dims = tl.arange(0, HEAD)
        slots = tl.arange(0, PAGE)
        seqlen = tl.load(seqlens_ptr + sequence)
        rows = (sequence * HEADS + lanes[:, None]) * HEAD + dims[None, :]
        q = tl.load(q_ptr + rows, mask=lanes[:, None] < HEADS, other=0.0)
        top = tl.full((BLOCK_H,), float("-inf"), tl.float32)
        total = tl.zeros((BLOCK_H,), tl.float32)
        out = tl.zeros((BLOCK_H, HEAD), tl.float32)
        for number in range(tl.cdiv(seqlen, PAGE)):
            page = tl.load(table_ptr + sequence * MAX_PAGES + number).to(tl.int64)
            held = number * PAGE + slots < seqlen
            places = (page * PAGE + slots[:, None]) * HEAD + dims[None, :]
            k = tl.load(k_pages_ptr + places, mask=held[:, None], other=0.0)
            v = tl.load(v_pages_ptr + places, mask=held[:, None], other=0.0)
            s = tl.dot(q, tl.trans(k), input_precision="ieee") * scale
            s = tl.where(held[None, :], s, float("-inf"))
            m_new = tl.maximum(top, tl.max(s, 1))
            alpha = tl.exp(top - m_new)
            p = tl.exp(s - m_new[:, None])
            total = total * alpha + tl.sum(p, 1)
            out = out * alpha[:, None] + tl.dot(p, v, input_precision="ieee")
            top = m_new
        divisor = tl.where(total == 0.0, 1.0, total)
        tl.store(o_ptr + rows, out / divisor[:, None], mask=lanes[:, None] < HEADS)
        lse = top + tl.log(divisor)
        tl.store(lse_ptr + sequence * HEADS + lanes, lse, mask=lanes < HEADS)
