"""acc before l, p before alpha, and hidden scores set to 0 in p by name."""

import triton
import triton.language as tl


@triton.jit
def online_softmax_update(m_i, l_i, acc, s, v):
    seen = s > float("-inf")
    m_new = tl.maximum(tl.max(s, 1), m_i)
    p = tl.where(seen, tl.exp(s - m_new[:, None]), 0.0)
    alpha = tl.where(m_i > float("-inf"), tl.exp(m_i - m_new), 0.0)
    acc = tl.dot(p, v, input_precision="ieee") + alpha[:, None] * acc
    l_i = tl.sum(p, 1) + alpha * l_i
    return m_new, l_i, acc
