"""Raises the new maximum to -1e30, which is finite and below any real score."""

import triton
import triton.language as tl


@triton.jit
def online_softmax_update(m_i, l_i, acc, s, v):
    m_new = tl.maximum(m_i, tl.max(s, 1))
    m_safe = tl.maximum(m_new, -1.0e30)
    alpha = tl.exp(m_i - m_safe)
    p = tl.exp(s - m_safe[:, None])
    l_i = l_i * alpha + tl.sum(p, 1)
    acc = acc * alpha[:, None] + tl.dot(p, v, input_precision="ieee")
    m_i = m_new
    return m_i, l_i, acc
