"""Tiles at the edge of a slice: two vectors give a table of sums, which is written into a part of a wider matrix.

    python course/lessons/experiments/outer_sum.py

The table is 3 x 5, tiles are 2 x 4, and it goes into the first five columns of a matrix of eight, full of dots.
"""

from start import DEVICE, tl, torch, triton

M, N, WIDE, DOT = 3, 5, 8, -1


@triton.jit
def outer_sum_kernel(a_ptr, b_ptr, out_ptr, M, N, stride_m, stride_n, BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr):
    rows = tl.program_id(0) * BLOCK_M + tl.arange(0, BLOCK_M)
    columns = tl.program_id(1) * BLOCK_N + tl.arange(0, BLOCK_N)
    row_exists, column_exists = rows < M, columns < N
    a = tl.load(a_ptr + rows, mask=row_exists)
    b = tl.load(b_ptr + columns, mask=column_exists)
    sums = a[:, None] + b[None, :]
    down, across = rows * stride_m, columns * stride_n
    exists = row_exists[:, None] & column_exists[None, :]
    tl.store(out_ptr + (down[:, None] + across[None, :]), sums, mask=exists)


def show(name, matrix):
    print(f"{name}\n")
    for row in matrix.tolist():
        print("   ", *(" ." if x == DOT else f"{int(x):>2}" for x in row))
    print()


def main():
    a = torch.tensor([0, 10, 20], device=DEVICE)
    b = torch.arange(N, device=DEVICE)
    cases = (
        ("as it should be", N, WIDE),
        ("the column mask lets all of a tile through", 8, WIDE),
        ("rows taken to be five apart, as long as the table is wide", N, N),
    )
    padded = torch.cat([b, torch.full((3,), 70, device=DEVICE)])  # what lies behind b
    for name, columns, stride in cases:
        matrix = torch.full((M, WIDE), DOT, device=DEVICE)
        grid = (triton.cdiv(M, 2), triton.cdiv(N, 4))
        outer_sum_kernel[grid](a, padded, matrix, M, columns, stride, 1, BLOCK_M=2, BLOCK_N=4)
        show(name, matrix)


if __name__ == "__main__":
    main()
