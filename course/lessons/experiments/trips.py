"""How often the numbers travel: RMSNorm and SwiGLU as separate operations, and fused.

    python course/lessons/experiments/trips.py

Counted are whole rows of the width of y that are read from memory or written to it.
"""

# (operation, rows read, rows written)
RMS_NORM = (
    ("h = x + residual", 2, 1),
    ("s = h * h", 1, 1),
    ("r = rsqrt(mean(s) + eps)", 1, 0),
    ("n = h * r", 1, 1),
    ("y = n * weight", 1, 1),
)
SWIGLU = (
    ("gate, up = two copies", 2, 2),
    ("a = sigmoid(gate)", 1, 1),
    ("b = a * gate", 2, 1),
    ("y = b * up", 2, 1),
)
FUSED = {"RMSNorm": (2, 2), "SwiGLU": (2, 1)}  # what has to go in, and what has to come out


def main():
    for name, steps in (("RMSNorm", RMS_NORM), ("SwiGLU", SWIGLU)):
        print(f"{name:<28} {'read':>5} {'written':>8}")
        for words, read, written in steps:
            print(f"  {words:<26} {read:>5} {written:>8}")
        apart = sum(read + written for _, read, written in steps)
        together = sum(FUSED[name])
        print(f"  {'fused':<26} {FUSED[name][0]:>5} {FUSED[name][1]:>8}")
        print(f"  {apart} rows apart, {together} fused: {apart / together:.1f} times less\n")


if __name__ == "__main__":
    main()
