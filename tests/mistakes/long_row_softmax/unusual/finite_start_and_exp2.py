"""Starts from a very low finite maximum, works in powers of 2, and goes back through the chunks."""

import triton
import triton.language as tl


@triton.jit
def long_row_softmax_kernel(x_ptr, y_ptr, M, N, BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr):
    LOG2E: tl.constexpr = 1.4426950408889634
    row = tl.program_id(0) * BLOCK_M + tl.arange(0, BLOCK_M)
    m_i = tl.full((BLOCK_M,), -1e30, tl.float32)
    l_i = tl.zeros((BLOCK_M,), tl.float32)
    chunks = tl.cdiv(N, BLOCK_N)
    for chunk in range(chunks):
        column = (chunks - 1 - chunk) * BLOCK_N + tl.arange(0, BLOCK_N)
        inside = (row < M)[:, None] & (column < N)[None, :]
        x = tl.load(x_ptr + row[:, None] * N + column[None, :], mask=inside, other=float("-inf"))
        m_new = tl.maximum(m_i, tl.max(x, 1))
        l_i = l_i * tl.exp2((m_i - m_new) * LOG2E) + tl.sum(tl.exp2((x - m_new[:, None]) * LOG2E), 1)
        m_i = m_new
    for chunk in range(chunks):
        column = chunk * BLOCK_N + tl.arange(0, BLOCK_N)
        inside = (row < M)[:, None] & (column < N)[None, :]
        x = tl.load(x_ptr + row[:, None] * N + column[None, :], mask=inside, other=float("-inf"))
        tl.store(
            y_ptr + row[:, None] * N + column[None, :], tl.exp2((x - m_i[:, None]) * LOG2E) / l_i[:, None], mask=inside
        )
