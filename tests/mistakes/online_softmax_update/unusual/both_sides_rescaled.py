"""Treats the chunk as a state of its own and merges the two states."""

import triton
import triton.language as tl


@triton.jit
def online_softmax_update(m_i, l_i, acc, s, v):
    m_chunk = tl.max(s, 1)
    base = tl.maximum(m_chunk, -1.0e30)
    p = tl.exp(s - base[:, None])
    m_new = tl.maximum(m_i, m_chunk)
    target = tl.maximum(m_new, -1.0e30)
    old = tl.exp(tl.maximum(m_i, -1.0e30) - target)
    new = tl.exp(base - target)
    l_i = l_i * old + tl.sum(p, 1) * new
    acc = acc * old[:, None] + tl.dot(p, v, input_precision="ieee") * new[:, None]
    return m_new, l_i, acc
