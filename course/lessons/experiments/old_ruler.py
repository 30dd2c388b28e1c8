"""A sum of exponentials that is collected in chunks and never brought over to the new maximum.

    python course/lessons/experiments/old_ruler.py

Each chunk is measured against the largest score that is known when it comes along.
"""

import torch

ROWS = (
    ("falling", (4, 3, 2, 1, 0, 0)),
    ("rising slowly", (0, 0, 1, 2, 3, 4)),
    ("one late peak", (0, 0, 0, 0, 0, 9)),
)


def main():
    print("l of six scores in chunks of two, and what it should be\n")
    print(f"{'row':<14} {'scores':<14} {'never brought over':>18} {'right':>8}")
    for name, scores in ROWS:
        x = torch.tensor(scores, dtype=torch.float64)
        known = torch.cummax(x.reshape(-1, 2).amax(1), 0).values  # the largest score after each chunk
        kept = torch.exp(x - known.repeat_interleave(2)).sum()
        right = torch.exp(x - x.max()).sum()
        print(f"{name:<14} {' '.join(map(str, scores)):<14} {kept:>18.3f} {right:>8.3f}")


if __name__ == "__main__":
    main()
