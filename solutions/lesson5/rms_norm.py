"""Lesson 5: RMSNorm with the residual added on the way in, one kernel in place of six passes over memory.

    h = x + residual                                (rows, WIDTH), the new residual stream
    y = h / sqrt(mean(h * h) + eps) * weight        (rows, WIDTH), the mean taken over each row

Written as separate operations, every line of this reads its operands from memory and writes its result back. Here a
row is loaded once, stays in registers until it is done, and is stored once. One program owns one row.

Shapes: x, residual, h and y are (rows, WIDTH), weight is (WIDTH,); float32, contiguous. BLOCK is a power of two that
holds a row: BLOCK >= WIDTH.
"""

import triton
import triton.language as tl


@triton.jit
def rms_norm_kernel(
    x_ptr,
    residual_ptr,
    weight_ptr,
    h_ptr,
    y_ptr,
    WIDTH,
    eps,
    BLOCK: tl.constexpr,
):
    """h = x + residual and y = h / sqrt(mean(h * h) + eps) * weight, for one row.

    x_ptr, residual_ptr   pointers to (rows, WIDTH) float32, contiguous
    weight_ptr            pointer to (WIDTH,) float32: one factor a column
    h_ptr, y_ptr          pointers to (rows, WIDTH) float32, contiguous; both are written
    eps                   float32, handed in: keeps a row of zeros from being divided by 0
    grid                  (rows,); program_id(0) is the row
    tiles                 BLOCK >= WIDTH; a column from WIDTH on is a ghost

    Writes the elements of h and y that exist, and nothing else.
    """
    row = tl.program_id(0)
    columns = tl.arange(0, BLOCK)
    ### BEGIN SOLUTION
    #: # TODO: load the row of x and of the residual, and the weights.
    #: # TODO: h, the mean of its squares over the WIDTH columns that exist, and y. Store h and y.
    real = columns < WIDTH  # (BLOCK,)
    offsets = row * WIDTH + columns
    x = tl.load(x_ptr + offsets, mask=real, other=0.0)  # (BLOCK,)
    residual = tl.load(residual_ptr + offsets, mask=real, other=0.0)
    weight = tl.load(weight_ptr + columns, mask=real)  # ghosts of y are not stored: any value will do there
    h = x + residual
    # A ghost is 0 and adds nothing to the sum; dividing by WIDTH, not by BLOCK, keeps it out of the count as well.
    mean_square = tl.sum(h * h, 0) / WIDTH
    y = h * tl.rsqrt(mean_square + eps) * weight  # (BLOCK,)
    tl.store(h_ptr + offsets, h, mask=real)
    tl.store(y_ptr + offsets, y, mask=real)
    ### END SOLUTION
