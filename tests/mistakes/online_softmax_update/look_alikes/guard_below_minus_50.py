"""Takes a maximum below -50 for that of a row that has seen no key."""

# may be called: measured_from_zero

import triton
import triton.language as tl


@triton.jit
def online_softmax_update(m_i, l_i, acc, s, v):
    m_new = tl.maximum(m_i, tl.max(s, 1))
    b = tl.where(m_new < -50.0, 0.0, m_new)
    a = tl.exp(m_i - b)
    p = tl.exp(s - b[:, None])
    l_i = l_i * a + tl.sum(p, 1)
    acc = acc * a[:, None] + tl.dot(p, v, input_precision="ieee")
    return m_new, l_i, acc
