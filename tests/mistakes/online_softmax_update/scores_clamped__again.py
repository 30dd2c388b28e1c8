"""Clamps the scores so that exp cannot overflow: large scores become equal.

The same mistake, written another way.
"""

import triton
import triton.language as tl


@triton.jit
def grown_maximum(old, scores):
    new = tl.maximum(old, tl.max(scores, axis=1))
    return tl.where(new == float("-inf"), 0.0, new)


@triton.jit
def rescaled(total, factor, part):
    return total * factor + part


@triton.jit
def online_softmax_update(m_i, l_i, acc, s, v):
    s = tl.where(s > 80.0, 80.0, s)
    higher = grown_maximum(m_i, s)
    factor = tl.exp(m_i - higher)
    weights = tl.exp(s - higher[:, None])
    summed = rescaled(l_i, factor, tl.sum(weights, axis=1))
    averaged = rescaled(acc, factor[:, None], tl.dot(weights, v, input_precision="ieee"))
    return higher, summed, averaged
