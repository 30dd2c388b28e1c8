"""Floating-point sums depend on their order: four parts of one sum, added in every order there is.

python course/lessons/experiments/orders.py
"""

import itertools

import torch


def main():
    generator = torch.Generator().manual_seed(7)
    parts = torch.randn(4, generator=generator) * torch.tensor([1.0, 10.0, 100.0, 1000.0])
    results = set()
    for order in itertools.permutations(parts):
        total = torch.zeros(())
        for part in order:
            total = total + part
        results.add(float(total))
    print("parts      ", *(f"{v:.4f}" for v in parts.tolist()))
    print(f"orders      {len(list(itertools.permutations(parts)))}")
    print(f"results     {len(results)}")
    for value in sorted(results):
        print(f"            {value:.6f}")


if __name__ == "__main__":
    main()
