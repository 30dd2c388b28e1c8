"""Loads without `other` and sets the ghosts to 0 with tl.where."""

import triton
import triton.language as tl


@triton.jit
def load_tiles(q_ptr, k_ptr, v_ptr, offs_m, offs_n, offs_d, NSEQ, HEAD: tl.constexpr):
    q_real = tl.expand_dims(offs_m, 1) < NSEQ
    kv_real = tl.expand_dims(offs_n, 1) < NSEQ
    q_ptrs = q_ptr + (offs_m * HEAD)[:, None] + offs_d
    kv_offsets = (offs_n * HEAD)[:, None] + offs_d
    q = tl.where(q_real, tl.load(q_ptrs, q_real), 0.0)
    k = tl.where(kv_real, tl.load(k_ptr + kv_offsets, kv_real), 0.0)
    v = tl.where(kv_real, tl.load(v_ptr + kv_offsets, kv_real), 0.0)
    return q, k, v
