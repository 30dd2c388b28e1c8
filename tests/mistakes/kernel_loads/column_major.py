"""Takes the matrices for column-major: steps by 1 from row to row and by NSEQ from column to column."""

import triton
import triton.language as tl


@triton.jit
def load_tiles(q_ptr, k_ptr, v_ptr, offs_m, offs_n, offs_d, NSEQ, HEAD: tl.constexpr):
    rows_q = offs_m[:, None] + offs_d[None, :] * NSEQ
    rows_kv = offs_n[:, None] + offs_d[None, :] * NSEQ
    mask_q = offs_m[:, None] < NSEQ
    mask_kv = offs_n[:, None] < NSEQ
    q = tl.load(q_ptr + rows_q, mask=mask_q, other=0.0)
    k = tl.load(k_ptr + rows_kv, mask=mask_kv, other=0.0)
    v = tl.load(v_ptr + rows_kv, mask=mask_kv, other=0.0)
    return q, k, v
