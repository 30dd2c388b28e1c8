"""Lesson 7: attention over a cache that is kept in pages, in whatever order they were given out.

A server does not know how long a sequence will get. Room for the longest would be empty for the most part, so the cache
is cut into pages of PAGE keys each, and a sequence gets another one when its last is full. Its pages lie anywhere among
those of others; the block table holds their numbers, in the order of the sequence:

    key j of a sequence is in slot j % PAGE of page table[j // PAGE]

Each step of the walk over the keys takes one page, so that the table is looked up once a step. The rest is the running
softmax of flash_attention_kernel:

    m_i, l_i, acc = -inf, 0, 0
    for each page of the sequence: scores, mask, new maximum, rescale l_i and acc, add the page
    o = acc / l_i, lse = m_i + log(l_i)

Shapes: q and o are (BATCH, HEADS, HEAD), one token a sequence, whose HEADS heads share their keys; k_pages and v_pages
are (PAGES, PAGE, HEAD), table is (BATCH, MAX_PAGES) int32, seqlens (BATCH,) int32, lse (BATCH, HEADS); float32 but for
the two, contiguous. Sequence b has seqlens[b] keys, in its first cdiv(seqlens[b], PAGE) pages. What the table holds
behind those is no page, and the free slots of the last page are left over from others and may be anything.
"""

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
    """o = softmax(scale * q k^T) v and its log-sum-exp, for the heads of one sequence's token.

    q_ptr, o_ptr              pointers to (BATCH, HEADS, HEAD) float32
    k_pages_ptr, v_pages_ptr  pointers to (PAGES, PAGE, HEAD) float32
    table_ptr                 pointer to (BATCH, MAX_PAGES) int32: the numbers of a sequence's pages, from 0
    seqlens_ptr               pointer to (BATCH,) int32: how many keys a sequence has
    lse_ptr                   pointer to (BATCH, HEADS) float32: the natural log-sum-exp of each head's scores
    HEAD, PAGE                powers of two, from 16
    BLOCK_H                   a power of two from 16, at least HEADS
    grid                      (BATCH,); program_id(0) is the sequence

    A sequence without keys has o = 0 and lse = -inf. Reads each of its keys once, a page at a time, and no page that is
    not its own. Writes the heads of o and lse that exist, and nothing else.
    """
    sequence = tl.program_id(0)
    heads = tl.arange(0, BLOCK_H)
    offs_d = tl.arange(0, HEAD)
    slots = tl.arange(0, PAGE)
    ### BEGIN SOLUTION
    #: # TODO: how many keys has the sequence? Load the queries of its heads.
    #: # TODO: walk over its pages: look up each in the table, load its keys and values, and take them into a running
    #: # softmax, in true float32; mind the last page.
    #: # TODO: finish the softmax and store o and lse; mind a sequence without keys.
    seqlen = tl.load(seqlens_ptr + sequence)
    rows = (sequence * HEADS + heads[:, None]) * HEAD + offs_d[None, :]  # (BLOCK_H, HEAD)
    q = tl.load(q_ptr + rows, mask=heads[:, None] < HEADS, other=0.0)
    m_i = tl.full((BLOCK_H,), float("-inf"), tl.float32)
    l_i = tl.zeros((BLOCK_H,), tl.float32)
    acc = tl.zeros((BLOCK_H, HEAD), tl.float32)
    for number in range(tl.cdiv(seqlen, PAGE)):
        page = tl.load(table_ptr + sequence * MAX_PAGES + number).to(tl.int64)  # a cache may pass 2^31 elements
        held = number * PAGE + slots < seqlen  # (PAGE,), the first slot always: no page is masked throughout
        cells = (page * PAGE + slots[:, None]) * HEAD + offs_d[None, :]  # (PAGE, HEAD)
        k = tl.load(k_pages_ptr + cells, mask=held[:, None], other=0.0)
        v = tl.load(v_pages_ptr + cells, mask=held[:, None], other=0.0)
        s = tl.dot(q, tl.trans(k), input_precision="ieee") * scale  # (BLOCK_H, PAGE)
        s = tl.where(held[None, :], s, float("-inf"))
        m_new = tl.maximum(m_i, tl.max(s, 1))
        alpha = tl.exp(m_i - m_new)
        p = tl.exp(s - m_new[:, None])
        l_i = l_i * alpha + tl.sum(p, 1)
        acc = acc * alpha[:, None] + tl.dot(p, v, input_precision="ieee")
        m_i = m_new
    divisor = tl.where(l_i == 0.0, 1.0, l_i)  # no key, no sum
    tl.store(o_ptr + rows, acc / divisor[:, None], mask=heads[:, None] < HEADS)
    lse = m_i + tl.log(divisor)  # -inf stays -inf
    tl.store(lse_ptr + sequence * HEADS + heads, lse, mask=heads < HEADS)
    ### END SOLUTION
