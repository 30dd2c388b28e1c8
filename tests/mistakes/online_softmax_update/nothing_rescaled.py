"""Rescales neither l nor acc: every chunk is measured against a maximum of its own."""

import triton
import triton.language as tl


@triton.jit
def online_softmax_update(m_i, l_i, acc, s, v):
    m_new = tl.maximum(m_i, tl.max(s, 1))
    m_safe = tl.where(m_new == float("-inf"), 0.0, m_new)
    p = tl.exp(s - m_safe[:, None])
    l_i = l_i + tl.sum(p, 1)
    acc = acc + tl.dot(p, v, input_precision="ieee")
    m_i = m_new
    return m_i, l_i, acc
