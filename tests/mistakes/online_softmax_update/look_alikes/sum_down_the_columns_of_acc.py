"""Adds 0 times a sum down the columns of acc to l_i: as long as a row, where l_i has one number a row."""

# may be called: rows_meet_columns

import triton
import triton.language as tl


@triton.jit
def online_softmax_update(m_i, l_i, acc, s, v):
    m_new = tl.maximum(m_i, tl.max(s, 1))
    m_safe = tl.where(m_new == float("-inf"), 0.0, m_new)
    alpha = tl.exp(m_i - m_safe)
    p = tl.exp(s - m_safe[:, None])
    l_i = l_i * alpha + tl.sum(p, 1) + 0.0 * tl.sum(acc, 0)
    acc = acc * alpha[:, None] + tl.dot(p, v, input_precision="ieee")
    return m_new, l_i, acc
