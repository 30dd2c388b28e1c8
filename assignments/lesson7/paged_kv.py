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
    # TODO: how many keys has the sequence? Load the queries of its heads.
    # TODO: walk over its pages: look up each in the table, load its keys and values, and take them into a running
    # softmax, in true float32; mind the last page.
    # TODO: finish the softmax and store o and lse; mind a sequence without keys.
