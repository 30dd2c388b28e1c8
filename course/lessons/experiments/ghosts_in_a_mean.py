"""What RMSNorm gives when ghosts are counted: a row of threes, divided by the root of its mean square.

    python course/lessons/experiments/ghosts_in_a_mean.py

Every number should be 1.  The sum is right, since ghosts read as 0; the number that it is divided by is the question.
"""

import math

WIDTHS = (64, 63, 48, 33)
BLOCK = 64


def main():
    print(f"a row of threes in a block of {BLOCK}\n")
    print(f"{'WIDTH':>5} {'sum of squares':>15} {'y, over WIDTH':>14} {'y, over BLOCK':>14}")
    for width in WIDTHS:
        total = sum(3.0**2 for _ in range(width))
        print(f"{width:>5} {total:>15.0f} {3 / math.sqrt(total / width):>14.3f} {3 / math.sqrt(total / BLOCK):>14.3f}")


if __name__ == "__main__":
    main()
