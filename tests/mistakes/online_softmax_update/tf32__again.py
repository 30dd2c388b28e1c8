"""Leaves tl.dot at its default, which rounds float32 to TF32 on GPUs from sm_80 on.

The same mistake, written another way.
"""

import triton
import triton.language as tl


@triton.jit
def online_softmax_update(m_i, l_i, acc, s, v):
    LOG2E: tl.constexpr = 1.4426950408889634
    top = tl.max(s, axis=1)
    best = tl.where(top > m_i, top, m_i)
    anchor = tl.where(best > float("-inf"), best, 0.0)
    weights = tl.exp2((s - anchor[:, None]) * LOG2E)
    shrink = tl.exp2((m_i - anchor) * LOG2E)
    acc *= shrink[:, None]
    acc = tl.dot(weights, v, acc, input_precision="tf32")
    l_i *= shrink
    l_i += tl.sum(weights, axis=1)
    return best, l_i, acc
