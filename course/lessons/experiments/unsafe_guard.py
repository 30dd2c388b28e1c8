"""Where a stand-in for the maximum may stand: rows whose first chunk of keys is hidden, at three levels of scores.

    python course/lessons/experiments/unsafe_guard.py

After a hidden chunk a row has no maximum yet.  If 0 is carried on as its maximum, later scores are measured against 0
for good; if the stand-in is used within that one chunk only, they are measured against their own maximum.
Plain torch, float32, in a second.
"""

import torch

ROWS, KEYS, HEAD = 100, 32, 32
LEVELS = (0, -95, -120)


def output(scores, values, ruler):
    """One row's attention, its scores measured against ``ruler``."""
    w = torch.exp(scores - ruler)
    return w @ values / w.sum()


def main():
    print(f"{ROWS} rows, {KEYS} visible keys each, after one hidden chunk\n")
    print(f"{'scores near':>11}   {'0 carried on':<32} {'own maximum':<16}")
    for level in LEVELS:
        generator = torch.Generator().manual_seed(7)
        told = []
        for own in (False, True):
            worst, lost = 0.0, 0
            for _ in range(ROWS):
                s = level + torch.randn(KEYS, generator=generator)
                v = torch.randn(KEYS, HEAD, generator=generator)
                # the running maximum never falls: a 0 that was carried on stays unless a score is larger
                ruler = float(s.max()) if own else max(0.0, float(s.max()))
                exact = torch.softmax(s.double(), 0) @ v.double()
                got = output(s, v, ruler)
                lost += bool(got.isnan().any())
                worst = max(worst, float((got - exact).nan_to_num(0).abs().max()))
            error = f"error {worst:.0e}" if lost < ROWS else ""
            told.append(" ".join(filter(None, (error, f"{lost} of {ROWS} rows NaN" if lost else ""))))
        print(f"{level:>11}   {told[0]:<32} {told[1]:<16}")


if __name__ == "__main__":
    main()
