"""Has every program take all blocks of its row.

The same mistake, written another way.
"""

# seen on: cpu

import triton
import triton.language as tl


@triton.jit
def swiglu_kernel(gate_up_ptr, y_ptr, WIDTH, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    place = tl.arange(0, BLOCK)
    for _ in range(tl.num_programs(1)):
        gate_at = gate_up_ptr + (2 * row * WIDTH + place)
        gate = tl.load(gate_at, mask=place < WIDTH)
        silu = gate * tl.sigmoid(gate)
        tl.store(y_ptr + (row * WIDTH + place), silu * tl.load(gate_at + WIDTH, mask=place < WIDTH), mask=place < WIDTH)
        place += BLOCK
