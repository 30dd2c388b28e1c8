"""What tiles save: numbers that a product of two 1024 x 1024 matrices reads, by the size of its tiles of C.

    python course/lessons/experiments/reuse.py

A T4 computes 25 float32 operations in the time in which one byte comes from its memory, by its data sheet.
"""

SIZE, FLOAT = 1024, 4
BEND = 8.1e12 / 320e9


def main():
    print(f"{'tile of C':<10} {'numbers read':>15} {'operations a byte':>18} {'bound by':>11}")
    for tile in (1, 4, 16, 32, 64, 128):
        read = 2 * SIZE**3 // tile  # each tile of C reads its rows of A and its columns of B, and there are two factors
        moved = (read + SIZE**2) * FLOAT
        intensity = 2 * SIZE**3 / moved
        bound = "arithmetic" if intensity > BEND else "memory"
        print(f"{f'{tile} x {tile}':<10} {f'{read / 1e6:.0f} million':>15} {intensity:>18.1f} {bound:>11}")


if __name__ == "__main__":
    main()
