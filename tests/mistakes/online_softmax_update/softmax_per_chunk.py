"""Makes each chunk a softmax of its own and adds the averages up."""

import triton
import triton.language as tl


@triton.jit
def online_softmax_update(m_i, l_i, acc, s, v):
    m_new = tl.maximum(m_i, tl.max(s, 1))
    m_safe = tl.where(m_new == float("-inf"), 0.0, m_new)
    alpha = tl.exp(m_i - m_safe)
    p = tl.exp(s - m_safe[:, None])
    l_chunk = tl.sum(p, 1)
    p = p / tl.where(l_chunk == 0.0, 1.0, l_chunk)[:, None]
    l_i = l_i * alpha + l_chunk
    acc = acc * alpha[:, None] + tl.dot(p, v, input_precision="ieee")
    return m_new, l_i, acc
