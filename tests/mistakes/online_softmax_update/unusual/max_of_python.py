"""The larger of two tiles by Python's `max`, which Triton compiles to tl.maximum."""

import triton
import triton.language as tl


@triton.jit
def online_softmax_update(m_i, l_i, acc, s, v):
    m_new = max(m_i, tl.max(s, 1), -1e30)
    alpha = tl.exp(m_i - m_new)
    p = tl.exp(s - m_new[:, None])
    l_i = l_i * alpha + tl.sum(p, 1)
    acc = acc * alpha[:, None] + tl.dot(p, v, input_precision="ieee")
    return m_new, l_i, acc
