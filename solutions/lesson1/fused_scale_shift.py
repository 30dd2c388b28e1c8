"""Lesson 1: y = x * scale + shift, column by column, in one pass over x.

Each column has a scale and a shift of its own, as in the last step of a layer norm. The arithmetic is two operations
an element; bringing the element in and taking it out again is eight bytes. A GPU does the two operations in a fraction
of the time that the eight bytes take, so that the kernel is as fast as the memory, and a second pass over x doubles
its time.
"""

import triton
import triton.language as tl


@triton.jit
def fused_scale_shift_kernel(x_ptr, scale_ptr, shift_ptr, y_ptr, n, n_columns, BLOCK: tl.constexpr):
    """y[i, j] = x[i, j] * scale[j] + shift[j] for one block of BLOCK elements, each read once and written once.

    x_ptr, y_ptr            pointers to (n // n_columns, n_columns) float32, contiguous: n elements, row after row
    scale_ptr, shift_ptr    pointers to (n_columns,) float32, contiguous
    BLOCK                   elements a program owns; a power of two. A block may begin and end amid a row
    grid                    (cdiv(n, BLOCK),); program_id(0) is the number of the block

    Writes those elements of its block that exist, and nothing else; reads nothing back from y.
    """
    ### BEGIN SOLUTION
    #: # TODO: which elements are this program's, which of them exist, and in which column does each of them lie?
    #: # TODO: load each element of x once, scale and shift it by its column, and store it in y.
    offs = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)  # (BLOCK,)
    exists = offs < n
    column = offs % n_columns  # (BLOCK,), always a real column: these two loads need no mask
    x = tl.load(x_ptr + offs, mask=exists)
    scale = tl.load(scale_ptr + column)
    shift = tl.load(shift_ptr + column)
    tl.store(y_ptr + offs, x * scale + shift, mask=exists)
    ### END SOLUTION
