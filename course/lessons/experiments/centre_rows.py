"""A fused kernel with a reduction in its middle: a bias is added, and each row's mean taken off.

python course/lessons/experiments/centre_rows.py
"""

from start import DEVICE, tl, torch, triton

ROWS, WIDTH, BLOCK = 2, 6, 8


@triton.jit
def centre_rows_kernel(x_ptr, bias_ptr, moved_ptr, y_ptr, WIDTH, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    columns = tl.arange(0, BLOCK)
    exists = columns < WIDTH
    places = row * WIDTH + columns
    x = tl.load(x_ptr + places, mask=exists)
    bias = tl.load(bias_ptr + columns, mask=exists)
    moved = tl.where(exists, x + bias, 0.0)
    mean = tl.sum(moved, 0) / WIDTH
    tl.store(moved_ptr + places, moved, mask=exists)
    tl.store(y_ptr + places, moved - mean, mask=exists)


def main():
    x = torch.tensor([[1.0, 2, 3, 4, 5, 3], [0, 0, 0, 0, 0, 12]], device=DEVICE)
    bias = torch.ones(WIDTH, device=DEVICE)
    moved, y = torch.full_like(x, float("nan")), torch.full_like(x, float("nan"))
    centre_rows_kernel[(ROWS,)](x, bias, moved, y, WIDTH, BLOCK=BLOCK)
    for row in range(ROWS):
        for name, tensor in (("x", x), ("x + bias", moved), ("centred", y)):
            print(f"{name:<9}", *(f"{v:>4.0f}" for v in tensor[row].tolist()))
        print()


if __name__ == "__main__":
    main()
