"""One block of memory seen in five ways: what torch's slices do to the strides, and where an element lies.

python course/lessons/experiments/strides.py
"""

import torch

ROWS, COLUMNS = 4, 6


def main():
    x = torch.arange(ROWS * COLUMNS).reshape(ROWS, COLUMNS)  # each element holds its own place in memory
    views = {
        "x": x,
        "x[:, :4]": x[:, :4],
        "x[::2]": x[::2],
        "x[:, ::3]": x[:, ::3],
        "x.T": x.T,
    }
    print(f"x is {ROWS} x {COLUMNS} and holds 0, 1, 2 ... in order\n")
    print(f"{'view':<10} {'shape':<8} {'strides':<9} {'element (1, 1)':<15} {'as if contiguous':<16}")
    for name, view in views.items():
        shape, strides = (" x ".join(map(str, view.shape)), " ".join(map(str, view.stride())))
        guess = x.flatten()[view.shape[1] + 1]  # row 1 begins after one row of this width, or so it seems
        print(f"{name:<10} {shape:<8} {strides:<9} {view[1, 1].item():<15} {guess.item():<16}")


if __name__ == "__main__":
    main()
