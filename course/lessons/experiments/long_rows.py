"""Rows longer than a tile, taken in chunks: two numbers a row are carried from chunk to chunk.

python course/lessons/experiments/long_rows.py
"""

from start import DEVICE, tl, torch, triton


@triton.jit
def largest_and_mean_kernel(x_ptr, largest_ptr, mean_ptr, M, N, BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr):
    rows = tl.program_id(0) * BLOCK_M + tl.arange(0, BLOCK_M)
    starts, row_exists = x_ptr + rows * N, rows < M
    largest = tl.full((BLOCK_M,), float("-inf"), tl.float32)
    total = tl.zeros((BLOCK_M,), tl.float32)
    for start in range(0, N, BLOCK_N):
        columns = start + tl.arange(0, BLOCK_N)
        column_exists = columns < N
        exists = row_exists[:, None] & column_exists[None, :]
        chunk = tl.load(starts[:, None] + columns[None, :], mask=exists, other=float("-inf"))
        of_chunk = tl.max(chunk, 1)
        largest = tl.maximum(largest, of_chunk)
        total += tl.sum(tl.where(exists, chunk, 0.0), 1)
    tl.store(largest_ptr + rows, largest, mask=row_exists)
    tl.store(mean_ptr + rows, total / N, mask=row_exists)


def main():
    generator = torch.Generator().manual_seed(7)
    x = torch.randint(-99, 100, (3, 50), generator=generator).float().to(DEVICE)
    largest, mean = (torch.full((3,), float("nan"), device=DEVICE) for _ in range(2))
    largest_and_mean_kernel[(2,)](x, largest, mean, 3, 50, BLOCK_M=2, BLOCK_N=16)
    print("three rows of 50 numbers, in chunks of 16\n")
    for name, found, exact in (("largest", largest, x.amax(1)), ("mean", mean, x.mean(1))):
        for who, numbers in (("kernel", found), ("torch", exact)):
            print(f"{name:<8} {who:<7}", *(f"{v:>7.2f}" for v in numbers.tolist()))


if __name__ == "__main__":
    main()
