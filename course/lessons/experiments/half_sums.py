"""What a sum of products is worth when the accumulator is float16, and when it is float32.

    python course/lessons/experiments/half_sums.py

The factors are float16 in both columns; only the running sum differs.
"""

import torch

LENGTHS = (64, 1024, 4096, 16384)


def running_sum(products, dtype):
    """The sum in order, rounded to ``dtype`` after every step."""
    total = torch.zeros((), dtype=dtype)
    for product in products:
        total = (total.float() + product).to(dtype)
    return float(total)


def main():
    print("sum of K products of float16 numbers near 1\n")
    print(f"{'K':>6}   {'exact':>9}   {'float16 sum':>11}   {'float32 sum':>11}")
    for length in LENGTHS:
        generator = torch.Generator().manual_seed(7)
        a, b = ((1 + 0.1 * torch.randn(length, generator=generator)).half() for _ in range(2))
        exact = float((a.double() * b.double()).sum())
        products = a.float() * b.float()  # exact: two float16 factors fit into a float32
        half, single = (running_sum(products, dtype) for dtype in (torch.float16, torch.float32))
        print(f"{length:>6}   {exact:>9.1f}   {half:>11.1f}   {single:>11.1f}")


if __name__ == "__main__":
    main()
