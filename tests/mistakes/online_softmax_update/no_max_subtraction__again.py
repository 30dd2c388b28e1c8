"""Takes exp of the raw scores and keeps no maximum: scores beyond 88 are infinite.

The same mistake, written another way.
"""

import triton
import triton.language as tl


@triton.jit
def online_softmax_update(m_i, l_i, acc, s, v):
    LOG2E: tl.constexpr = 1.4426950408889634
    weights = tl.exp2(s * LOG2E)
    acc = tl.dot(weights, v, acc, input_precision="ieee")
    l_i += tl.sum(weights, axis=1)
    return tl.full(l_i.shape, 0.0, tl.float32), l_i, acc
