"""Stores silu(gate), without up."""

import triton
import triton.language as tl


@triton.jit
def swiglu_kernel(gate_up_ptr, y_ptr, WIDTH, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    columns = tl.program_id(1) * BLOCK + tl.arange(0, BLOCK)
    mask = columns < WIDTH
    gate = tl.load(gate_up_ptr + row * 2 * WIDTH + columns, mask=mask, other=0.0)
    y = gate * tl.sigmoid(gate)
    tl.store(y_ptr + row * WIDTH + columns, y, mask=mask)
