"""Lesson 4: matrix products with tl.dot, a tile of the output for each program.

    C = A B        c[i, j] = sum_k a[i, k] b[k, j]

A program owns the tile (BLOCK_M, BLOCK_N) of C and walks along K in steps of BLOCK_K: a tile (BLOCK_M, BLOCK_K) of A
meets a tile (BLOCK_K, BLOCK_N) of B, and what they give is added to an accumulator that never leaves the chip.

What the accumulator is made of decides how good the sum is, and what the tiles are made of how fast it is:

    tiles      accumulator   tl.dot works in
    float32    float32       TF32 on sm_80 and later unless told otherwise: three digits; "ieee" is true float32
    float16    float32       tensor cores, each product exact; a float16 accumulator would lose digits and overflow

Shapes: A is (M, K), B is (K, N), C is (M, N), contiguous. M, N and K need not be multiples of the tile.
"""

import triton
import triton.language as tl


@triton.jit
def tiled_matmul_kernel(
    a_ptr,
    b_ptr,
    c_ptr,
    M,
    N,
    K,
    BLOCK_M: tl.constexpr,
    BLOCK_N: tl.constexpr,
    BLOCK_K: tl.constexpr,
):
    """One tile of c = a b in true float32.

    a_ptr   pointer to (M, K) float32, contiguous
    b_ptr   pointer to (K, N) float32, contiguous
    c_ptr   pointer to (M, N) float32, contiguous
    grid    (cdiv(M, BLOCK_M), cdiv(N, BLOCK_N)); program_id(0) is the tile of rows, program_id(1) that of columns

    No tile is larger than the block sizes, and each program reads its part of a and b once. Writes the elements of c
    that exist, no others.
    """
    offs_m = tl.program_id(0) * BLOCK_M + tl.arange(0, BLOCK_M)
    offs_n = tl.program_id(1) * BLOCK_N + tl.arange(0, BLOCK_N)
    acc = tl.zeros((BLOCK_M, BLOCK_N), tl.float32)
    for start_k in range(0, K, BLOCK_K):
        offs_k = start_k + tl.arange(0, BLOCK_K)
        ### BEGIN SOLUTION
        #: # TODO: load a (BLOCK_M, BLOCK_K) and b (BLOCK_K, BLOCK_N). Each has ghosts along two axes.
        #: # TODO: add their product to acc, in true float32.
        a_mask = (offs_m[:, None] < M) & (offs_k[None, :] < K)
        b_mask = (offs_k[:, None] < K) & (offs_n[None, :] < N)
        a = tl.load(a_ptr + offs_m[:, None] * K + offs_k[None, :], mask=a_mask, other=0.0)  # (BLOCK_M, BLOCK_K)
        b = tl.load(b_ptr + offs_k[:, None] * N + offs_n[None, :], mask=b_mask, other=0.0)  # (BLOCK_K, BLOCK_N)
        # "ieee": by default tl.dot rounds float32 operands to TF32 on sm_80 and later, and loses a thousandfold.
        acc += tl.dot(a, b, input_precision="ieee")
        ### END SOLUTION
    ### BEGIN SOLUTION
    #: # TODO: store the part of the tile that c has.
    c_mask = (offs_m[:, None] < M) & (offs_n[None, :] < N)
    tl.store(c_ptr + offs_m[:, None] * N + offs_n[None, :], acc, mask=c_mask)
    ### END SOLUTION


@triton.jit
def half_matmul_kernel(
    a_ptr,
    b_ptr,
    c_ptr,
    M,
    N,
    K,
    BLOCK_M: tl.constexpr,
    BLOCK_N: tl.constexpr,
    BLOCK_K: tl.constexpr,
):
    """One tile of c = a b, from float16 into float32.

    a_ptr   pointer to (M, K) float16, contiguous
    b_ptr   pointer to (K, N) float16, contiguous
    c_ptr   pointer to (M, N) float32, contiguous
    grid    (cdiv(M, BLOCK_M), cdiv(N, BLOCK_N)); program_id(0) is the tile of rows, program_id(1) that of columns

    Sums and outputs are as good as float32 makes them, also where they lie outside of what float16 can hold.
    """
    offs_m = tl.program_id(0) * BLOCK_M + tl.arange(0, BLOCK_M)
    offs_n = tl.program_id(1) * BLOCK_N + tl.arange(0, BLOCK_N)
    ### BEGIN SOLUTION
    #: # TODO: an accumulator (BLOCK_M, BLOCK_N). Which dtype has to hold the sum?
    #: # TODO: the loop along K, as in the exercise before, on float16 tiles. Store the part of the tile that c has.
    acc = tl.zeros((BLOCK_M, BLOCK_N), dtype=tl.float32)  # float16 would lose digits, and end at 65504
    for step in range(tl.cdiv(K, BLOCK_K)):
        offs_k = step * BLOCK_K + tl.arange(0, BLOCK_K)
        a_mask = (offs_m[:, None] < M) & (offs_k[None, :] < K)
        b_mask = (offs_k[:, None] < K) & (offs_n[None, :] < N)
        a = tl.load(a_ptr + offs_m[:, None] * K + offs_k[None, :], mask=a_mask, other=0.0)  # (BLOCK_M, BLOCK_K)
        b = tl.load(b_ptr + offs_k[:, None] * N + offs_n[None, :], mask=b_mask, other=0.0)  # (BLOCK_K, BLOCK_N)
        acc = tl.dot(a, b, acc)  # float16 tiles go to the tensor cores as they are, the sum stays in float32
    c_mask = (offs_m[:, None] < M) & (offs_n[None, :] < N)
    tl.store(c_ptr + offs_m[:, None] * N + offs_n[None, :], acc, mask=c_mask)
    ### END SOLUTION
