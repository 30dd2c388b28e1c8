"""Sums in float64 and returns l as float64: it went into the loop as float32, which no GPU accepts.

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
    higher = grown_maximum(m_i, s)
    factor = tl.exp(m_i - higher)
    weights = tl.exp(s - higher[:, None])
    summed = rescaled(l_i, factor, tl.sum(tl.cast(weights, tl.float64), axis=1))
    averaged = rescaled(acc, factor[:, None], tl.dot(weights, v, input_precision="ieee"))
    return higher, summed, averaged
