"""Softmax as it stands in the book, and with the row's maximum taken off: two scores that lie 1 apart, at five levels.

python course/lessons/experiments/overflow.py
"""

import torch

LEVELS = (0, 50, 88, 89, -110)


def main():
    print("softmax of the scores (level - 1, level) in float32; it should be 0.269 0.731\n")
    print(f"{'level':>5}   {'exp(level)':<12} {'as it stands':<15} {'maximum taken off':<15}")
    for level in LEVELS:
        s = torch.tensor([level - 1.0, float(level)])
        plain = torch.exp(s) / torch.exp(s).sum()
        safe = torch.exp(s - s.max()) / torch.exp(s - s.max()).sum()
        told = [" ".join(f"{x:.3f}" for x in p.tolist()) for p in (plain, safe)]
        print(f"{level:>5}   {torch.exp(s[1]).item():<12.3g} {told[0]:<15} {told[1]:<15}")


if __name__ == "__main__":
    main()
