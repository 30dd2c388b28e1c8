"""Has every program take all blocks of its row."""

# seen on: cpu

import triton
import triton.language as tl


@triton.jit
def swiglu_kernel(gate_up_ptr, y_ptr, WIDTH, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    for start in range(0, WIDTH, BLOCK):
        columns = start + tl.arange(0, BLOCK)
        real = columns < WIDTH
        gate = tl.load(gate_up_ptr + row * 2 * WIDTH + columns, mask=real)
        up = tl.load(gate_up_ptr + row * 2 * WIDTH + WIDTH + columns, mask=real)
        tl.store(y_ptr + row * WIDTH + columns, gate / (1.0 + tl.exp(-gate)) * up, mask=real)
