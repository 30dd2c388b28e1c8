"""Puts 0 in the place of a maximum below -100 and carries it on."""

# may be called: measured_from_zero

import triton
import triton.language as tl


@triton.jit
def online_softmax_update(m_i, l_i, acc, s, v):
    m_new = tl.maximum(m_i, tl.max(s, 1))
    m_safe = tl.where(m_new < -100.0, 0.0, m_new)
    alpha = tl.exp(m_i - m_safe)
    p = tl.exp(s - m_safe[:, None])
    l_i = l_i * alpha + tl.sum(p, 1)
    acc = acc * alpha[:, None] + tl.dot(p, v, input_precision="ieee")
    return m_safe, l_i, acc
