"""Loads tiles of W the other way round, keys down and rows across, and all parts as one tile."""

import triton
import triton.language as tl


@triton.jit
def gemv_split_kernel(
    x_ptr,
    w_ptr,
    partial_ptr,
    N,
    K,
    CHUNK,
    BLOCK_N: tl.constexpr,
    BLOCK_K: tl.constexpr,
):
    n = tl.program_id(0) * BLOCK_N + tl.arange(0, BLOCK_N)
    end = tl.minimum((tl.program_id(1) + 1) * CHUNK, K)
    k = tl.program_id(1) * CHUNK + tl.arange(0, BLOCK_K)
    total = tl.zeros((BLOCK_N,), tl.float32)
    for _ in range(tl.cdiv(CHUNK, BLOCK_K)):
        x = tl.load(x_ptr + k, mask=k < end, other=0.0)
        w = tl.load(w_ptr + n[None, :] * K + k[:, None], mask=(n[None, :] < N) & (k[:, None] < end), other=0.0)
        total += tl.sum(x[:, None] * w, axis=0)
        k += BLOCK_K
    tl.store(partial_ptr + tl.program_id(1) * N + n, total, mask=n < N)


@triton.jit
def gemv_reduce_kernel(partial_ptr, y_ptr, N, SPLITS, BLOCK_N: tl.constexpr):
    MOST: tl.constexpr = 16
    n = (tl.program_id(0) * BLOCK_N + tl.arange(0, BLOCK_N))[None, :]
    total = tl.zeros((1, BLOCK_N), tl.float32)
    for start in range(0, SPLITS, MOST):
        split = start + tl.arange(0, MOST)[:, None]
        parts = tl.load(partial_ptr + split * N + n, mask=(split < SPLITS) & (n < N), other=0.0)
        total += tl.sum(parts, axis=0, keep_dims=True)
    tl.store(y_ptr + n, total, mask=n < N)
