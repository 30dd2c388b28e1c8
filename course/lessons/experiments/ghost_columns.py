"""What a ghost column costs: 20 tokens in a tile of 32, with and without the ghosts at minus infinity.

    python course/lessons/experiments/ghost_columns.py

Plain torch, on any machine, in a second.  The keys and values behind the end of the sequence are zeros, as a masked
load leaves them.
"""

import math

import torch

TOKENS, TILE, HEAD = 20, 32, 32


def weights(scores, hidden):
    """Softmax of each row over the keys that are not ``hidden``."""
    return torch.softmax(scores.masked_fill(hidden, -math.inf), 1)


def main():
    generator = torch.Generator().manual_seed(7)
    q, k, v = (torch.randn(TOKENS, HEAD, generator=generator) for _ in range(3))
    ghosts = torch.zeros(TILE - TOKENS, HEAD)
    scores = q @ torch.cat([k, ghosts]).T / math.sqrt(HEAD)  # a ghost's score is 0
    values = torch.cat([v, ghosts])
    rows, columns = torch.arange(TOKENS)[:, None], torch.arange(TILE)[None, :]
    ghost = (columns >= TOKENS).expand(TOKENS, TILE)
    future = columns > rows

    print(f"{TOKENS} tokens in a tile of {TILE}, head size {HEAD}\n")
    print(f"{'':<12} {'ghost columns':<16} {'largest error':>14} {'weight on ghosts':>17}")
    for name, causal in (("not causal", torch.zeros_like(ghost)), ("causal", future)):
        exact = weights(scores.double(), ghost | causal) @ values.double()
        for words, hidden in (("left at 0", causal), ("at -inf", ghost | causal)):
            p = weights(scores, hidden)
            error = float((p @ values - exact).abs().max())
            share = float(p[:, TOKENS:].sum(1).max())
            print(f"{name:<12} {words:<16} {error:>14.0e} {share:>16.0%}")


if __name__ == "__main__":
    main()
