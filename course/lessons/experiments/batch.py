"""Why decode waits for memory: one projection of 4096 x 4096 in half precision, for more and more tokens at a time.

    python course/lessons/experiments/batch.py

By its data sheet, a T4 moves 320 GB a second and computes 65 Tflop in half precision on its tensor cores.
"""

WIDTH, BYTES = 4096, 2
MEMORY, ARITHMETIC = 320e9, 65e12


def main():
    print(f"{'tokens':>6} {'bytes':>9} {'flop':>10} {'flop a byte':>12} {'us, memory':>11} {'us, arithmetic':>15}")
    for tokens in (1, 4, 16, 64, 256, 1024):
        moved = (WIDTH * WIDTH + 2 * tokens * WIDTH) * BYTES
        flops = 2 * tokens * WIDTH * WIDTH
        times = moved / MEMORY * 1e6, flops / ARITHMETIC * 1e6
        print(
            f"{tokens:>6} {f'{moved / 1e6:.1f} MB':>9} {f'{flops / 1e9:.2f} G':>10} {flops / moved:>12.1f} "
            f"{times[0]:>11.0f} {times[1]:>15.1f}"
        )


if __name__ == "__main__":
    main()
