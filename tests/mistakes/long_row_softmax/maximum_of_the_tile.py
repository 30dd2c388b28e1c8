"""Keeps one maximum for all rows of the tile."""

import triton
import triton.language as tl


@triton.jit
def long_row_softmax_kernel(x_ptr, y_ptr, M, N, BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr):
    offs_m = tl.program_id(0) * BLOCK_M + tl.arange(0, BLOCK_M)
    m_i = tl.full((BLOCK_M,), float("-inf"), tl.float32)
    l_i = tl.zeros((BLOCK_M,), tl.float32)
    for start_n in range(0, N, BLOCK_N):
        offs_n = start_n + tl.arange(0, BLOCK_N)
        real = (offs_m[:, None] < M) & (offs_n[None, :] < N)
        x = tl.load(x_ptr + offs_m[:, None] * N + offs_n[None, :], mask=real, other=float("-inf"))
        m_new = tl.maximum(m_i, tl.max(x))
        m_safe = tl.where(m_new == float("-inf"), 0.0, m_new)
        l_i = l_i * tl.exp(m_i - m_safe) + tl.sum(tl.exp(x - m_safe[:, None]), 1)
        m_i = m_new
    for start_n in range(0, N, BLOCK_N):
        offs_n = start_n + tl.arange(0, BLOCK_N)
        offsets = offs_m[:, None] * N + offs_n[None, :]
        real = (offs_m[:, None] < M) & (offs_n[None, :] < N)
        x = tl.load(x_ptr + offsets, mask=real, other=float("-inf"))
        tl.store(y_ptr + offsets, tl.exp(x - m_i[:, None]) / l_i[:, None], mask=real)
