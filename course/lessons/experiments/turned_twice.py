"""A pair that is turned with its new first half: what becomes of its length.

    python course/lessons/experiments/turned_twice.py

The second line of a turn needs the old a.  If the first line has overwritten it, the second gets the new one.
"""

import math

A, B = 3.0, 4.0


def main():
    print("the pair (3, 4), whose length is 5\n")
    print(f"{'angle':>6} {'turned':>16} {'length':>7}   {'b from the new a':>16} {'length':>7}")
    for degrees in (0, 30, 60, 90, 180):
        c, s = math.cos(math.radians(degrees)), math.sin(math.radians(degrees))
        right = A * c - B * s, B * c + A * s
        wrong = right[0], B * c + right[0] * s
        shown = [f"{a + 0.0:.2f}, {b + 0.0:.2f}" for a, b in (right, wrong)]
        print(f"{degrees:>6} {shown[0]:>16} {math.hypot(*right):>7.2f}   {shown[1]:>16} {math.hypot(*wrong):>7.2f}")


if __name__ == "__main__":
    main()
