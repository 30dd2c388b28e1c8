"""Rows in a flat block: how many whole rows lie before an element, and what it takes to use that.

    python course/lessons/experiments/row_of.py

A matrix of 3 rows and 5 columns is handled in blocks of 8, as if it were one long vector.  From each element the
number of its own row is subtracted.
"""

from start import DEVICE, tl, torch, triton

ROWS, COLUMNS, BLOCK = 3, 5, 8


@triton.jit
def minus_its_row_kernel(x_ptr, of_row_ptr, y_ptr, n, n_columns, BLOCK: tl.constexpr):
    first = tl.program_id(0) * BLOCK
    index = first + tl.arange(0, BLOCK)
    there = index < n
    row = index // n_columns
    number = tl.load(of_row_ptr + row, mask=there)
    x = tl.load(x_ptr + index, mask=there)
    tl.store(y_ptr + index, x - number, mask=there)


def main():
    x = torch.arange(ROWS * COLUMNS, dtype=torch.float32, device=DEVICE).reshape(ROWS, COLUMNS)
    of_row = torch.tensor([0.0, 5.0, 10.0], device=DEVICE)
    y = torch.full_like(x, float("nan"))
    n = x.numel()
    minus_its_row_kernel[(triton.cdiv(n, BLOCK),)](x, of_row, y, n, COLUMNS, BLOCK=BLOCK)
    index = torch.arange(n)
    for name, numbers in (
        ("program", index // BLOCK),
        ("index", index),
        ("index // 5", index // COLUMNS),
        ("index % 5", index % COLUMNS),
        ("result", y.flatten().cpu()),
    ):
        print(f"{name:<11}", *(f"{int(x):>2}" for x in numbers.tolist()))


if __name__ == "__main__":
    main()
