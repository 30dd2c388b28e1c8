"""Adds the offsets of rows and of columns as they come, along one axis: all rows of a tile are the same."""

import triton
import triton.language as tl


@triton.jit
def load_tiles(q_ptr, k_ptr, v_ptr, offs_m, offs_n, offs_d, NSEQ, HEAD: tl.constexpr):
    rows_q = offs_m * HEAD + offs_d
    rows_kv = offs_n * HEAD + offs_d
    mask_q = offs_m[:, None] < NSEQ
    mask_kv = offs_n[:, None] < NSEQ
    q = tl.load(q_ptr + rows_q, mask=mask_q, other=0.0)
    k = tl.load(k_ptr + rows_kv, mask=mask_kv, other=0.0)
    v = tl.load(v_ptr + rows_kv, mask=mask_kv, other=0.0)
    return q, k, v
