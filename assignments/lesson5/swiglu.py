"""Lesson 5: SwiGLU, the gate of a transformer's feed-forward layer, in one pass.

    y = silu(gate) * up        silu(g) = g * sigmoid(g) = g / (1 + exp(-g))

One matrix product gives gate and up side by side: a row of gate_up holds the gate's WIDTH elements first and those of
up behind them. Separate operations would copy both halves out and write silu(gate) to memory in between; here each
element of gate_up is read once and each of y written once.

Shapes: gate_up is (rows, 2 * WIDTH), y is (rows, WIDTH); float32, contiguous. BLOCK is a power of two, and a row has
as many blocks as it takes.
"""

import triton
import triton.language as tl


@triton.jit
def swiglu_kernel(gate_up_ptr, y_ptr, WIDTH, BLOCK: tl.constexpr):
    """y = silu(gate) * up for one block of one row.

    gate_up_ptr   pointer to (rows, 2 * WIDTH) float32, contiguous: gate in columns 0 .. WIDTH - 1, up behind it
    y_ptr         pointer to (rows, WIDTH) float32, contiguous
    grid          (rows, cdiv(WIDTH, BLOCK)); program_id(0) is the row, program_id(1) the block of its columns

    gate may be large, of either sign. Writes the elements of y that exist, and nothing else.
    """
    row = tl.program_id(0)
    # TODO: which columns of the row are this program's, and which of them exist?
    # TODO: load gate and up, which lie in one row; store silu(gate) * up.
