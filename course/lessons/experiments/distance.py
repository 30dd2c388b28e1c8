"""RoPE: a score depends on how far apart two tokens are, as long as query and key are paired in the same way.

python course/lessons/experiments/distance.py
"""

import torch

HEAD = 8
PLACES = ((3, 1), (13, 11), (103, 101), (7, 1))


def turned(x, position, interleaved):
    """x (HEAD,), each pair turned by its angle at this position; as complex numbers, pair by pair."""
    pairs = x.reshape(-1, 2) if interleaved else x.reshape(2, -1).T
    angles = position * 10000.0 ** (-torch.arange(0, HEAD, 2, dtype=torch.float64) / HEAD)
    spun = torch.view_as_complex(pairs.contiguous()) * torch.polar(torch.ones_like(angles), angles)
    back = torch.view_as_real(spun)
    return back.reshape(-1) if interleaved else back.T.reshape(-1)


def main():
    generator = torch.Generator().manual_seed(7)
    q, k = (torch.randn(HEAD, generator=generator, dtype=torch.float64) for _ in range(2))
    print("one query, one key, moved about together: their score\n")
    print(f"{'positions':<12} {'apart':>5}   {'interleaved':>11}   {'half-split':>10}   {'mixed up':>8}")
    for i, j in PLACES:
        same = [float(turned(q, i, way) @ turned(k, j, way)) for way in (True, False)]
        mixed = float(turned(q, i, True) @ turned(k, j, False))
        print(f"{f'{i} and {j}':<12} {i - j:>5}   {same[0]:>11.3f}   {same[1]:>10.3f}   {mixed:>8.3f}")


if __name__ == "__main__":
    main()
