"""tl.dot on single tiles, and a sum that is collected along a loop: the two halves of a matrix product.

python course/lessons/experiments/one_tile_product.py
"""

from start import DEVICE, tl, torch, triton

SIZE, LONG = 16, 50


@triton.jit
def one_tile_product_kernel(x_ptr, y_ptr, out_ptr, SIZE: tl.constexpr):
    i = tl.arange(0, SIZE)
    tile = i[:, None] * SIZE + i[None, :]
    x = tl.load(x_ptr + tile)
    y = tl.load(y_ptr + tile)
    product = tl.dot(x, y, input_precision="ieee")
    tl.store(out_ptr + tile, product)


@triton.jit
def row_lengths_kernel(x_ptr, out_ptr, M, K, BLOCK_M: tl.constexpr, BLOCK_K: tl.constexpr):
    rows = tl.program_id(0) * BLOCK_M + tl.arange(0, BLOCK_M)
    starts, row_exists = x_ptr + rows * K, rows < M
    squares = tl.zeros((BLOCK_M,), tl.float32)
    for start in range(0, K, BLOCK_K):
        terms = start + tl.arange(0, BLOCK_K)
        term_exists = terms < K
        exists = row_exists[:, None] & term_exists[None, :]
        x = tl.load(starts[:, None] + terms[None, :], mask=exists, other=0.0)
        squares += tl.sum(x * x, 1)
    tl.store(out_ptr + rows, tl.sqrt(squares), mask=row_exists)


def main():
    generator = torch.Generator().manual_seed(7)
    x, y = (torch.randint(-3, 4, (SIZE, SIZE), generator=generator).float().to(DEVICE) for _ in range(2))
    product = torch.full_like(x, float("nan"))
    one_tile_product_kernel[(1,)](x, y, product, SIZE=SIZE)
    print(
        f"product of two tiles of {SIZE} x {SIZE}, largest difference from torch: {(product - x @ y).abs().max():.0f}"
    )
    rows = torch.randint(-3, 4, (5, LONG), generator=generator).float().to(DEVICE)
    lengths = torch.full((5,), float("nan"), device=DEVICE)
    row_lengths_kernel[(triton.cdiv(5, 4),)](rows, lengths, 5, LONG, BLOCK_M=4, BLOCK_K=16)
    print(f"lengths of five rows of {LONG} in steps of 16:", *(f"{v:.2f}" for v in lengths.tolist()))
    print("the same from torch:                    ", *(f"{v:.2f}" for v in rows.norm(dim=1).tolist()))


if __name__ == "__main__":
    main()
