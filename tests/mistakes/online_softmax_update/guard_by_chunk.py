"""Guards by the chunk's maximum: a later chunk without a visible key rescales l and acc to 0, not to m."""

import triton
import triton.language as tl


@triton.jit
def online_softmax_update(m_i, l_i, acc, s, v):
    m_chunk = tl.max(s, 1)
    m_new = tl.maximum(m_i, m_chunk)
    m_safe = tl.where(m_chunk == float("-inf"), 0.0, m_new)
    alpha = tl.exp(m_i - m_safe)
    p = tl.exp(s - m_safe[:, None])
    l_i = l_i * alpha + tl.sum(p, 1)
    acc = acc * alpha[:, None] + tl.dot(p, v, input_precision="ieee")
    m_i = m_new
    return m_i, l_i, acc
