"""Guards p against -inf minus -inf but not alpha: the NaN comes in through the rescaling.

The same mistake, written another way.
"""

import triton
import triton.language as tl


@triton.jit
def grown_maximum(old, scores):
    return tl.maximum(old, tl.max(scores, axis=1))


@triton.jit
def rescaled(total, factor, part):
    return total * factor + part


@triton.jit
def online_softmax_update(m_i, l_i, acc, s, v):
    higher = grown_maximum(m_i, s)
    factor = tl.exp(m_i - higher)
    anchor = tl.where(higher == float("-inf"), 0.0, higher)
    weights = tl.exp(s - anchor[:, None])
    summed = rescaled(l_i, factor, tl.sum(weights, axis=1))
    averaged = rescaled(acc, factor[:, None], tl.dot(weights, v, input_precision="ieee"))
    return higher, summed, averaged
