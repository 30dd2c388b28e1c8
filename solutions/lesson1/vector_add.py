"""Lesson 1: c = a + b, the first kernel.

A kernel is run by many programs at once. Each of them gets the same arguments and a number of its own,
tl.program_id(0); from that number it works out which elements are its share, and does them all together as one block.

    n = 10, BLOCK = 4      program 0: 0 1 2 3      program 1: 4 5 6 7      program 2: 8 9 . .

The last block may reach beyond n. What lies there belongs to somebody else: it must be neither read nor written.
"""

import triton
import triton.language as tl


@triton.jit
def vector_add_kernel(a_ptr, b_ptr, c_ptr, n, BLOCK: tl.constexpr):
    """c = a + b for one block of BLOCK elements.

    a_ptr, b_ptr, c_ptr   pointers to (n,) float32, contiguous
    BLOCK                 elements a program owns; a power of two
    grid                  (cdiv(n, BLOCK),); program_id(0) is the number of the block

    Writes those elements of its block that exist, and nothing else.
    """
    ### BEGIN SOLUTION
    #: # TODO: which elements are this program's, and which of them exist?
    #: # TODO: load them from a and b, add them, and store the sums in c.
    offs = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)  # (BLOCK,)
    exists = offs < n  # (BLOCK,), false behind the end: only in the last block, if at all
    a = tl.load(a_ptr + offs, mask=exists)
    b = tl.load(b_ptr + offs, mask=exists)
    tl.store(c_ptr + offs, a + b, mask=exists)
    ### END SOLUTION
