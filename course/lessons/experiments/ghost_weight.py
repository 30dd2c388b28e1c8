"""How much weight a ghost column takes in a softmax, by what it reads as and where the real scores lie.

python course/lessons/experiments/ghost_weight.py
"""

import torch

STAND_INS = (0.0, -1e4, float("-inf"))
LEVELS = (0, 50, -50, -20000)


def main():
    print("three scores near a level, and one ghost column: the ghost's share of the row\n")
    print(f"{'scores near':>11}", *(f"{f'ghost {x:g}':>14}" for x in STAND_INS))
    for level in LEVELS:
        shares = []
        for ghost in STAND_INS:
            x = torch.tensor([level + 2.0, level + 1.0, float(level), ghost])
            shares.append(float(torch.softmax(x, 0)[3]))
        print(f"{level:>11}", *(f"{share:>14.0%}" for share in shares))


if __name__ == "__main__":
    main()
