"""Each element as a share of its row's sum: one reduction, and its result spread over the row again.

python course/lessons/experiments/row_shares.py
"""

from start import DEVICE, tl, torch, triton


@triton.jit
def row_shares_kernel(x_ptr, y_ptr, M, N, BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr):
    rows = tl.program_id(0) * BLOCK_M + tl.arange(0, BLOCK_M)
    columns = tl.arange(0, BLOCK_N)
    row_exists, column_exists = rows < M, columns < N
    exists = row_exists[:, None] & column_exists[None, :]
    starts = rows * N
    tile = tl.load(x_ptr + (starts[:, None] + columns[None, :]), mask=exists, other=0.0)
    total = tl.sum(tile, 1)
    shares = tile / total[:, None]
    tl.store(y_ptr + (starts[:, None] + columns[None, :]), shares, mask=exists)


def main():
    x = torch.tensor([[1.0, 2.0, 1.0], [3.0, 3.0, 6.0], [5.0, 0.0, 0.0], [1.0, 8.0, 1.0]], device=DEVICE)
    y = torch.full_like(x, float("nan"))
    row_shares_kernel[(triton.cdiv(4, 2),)](x, y, 4, 3, BLOCK_M=2, BLOCK_N=4)
    for before, after in zip(x.tolist(), y.tolist(), strict=True):
        print(*(f"{v:>4.0f}" for v in before), "   ", *(f"{v:>6.2f}" for v in after))


if __name__ == "__main__":
    main()
