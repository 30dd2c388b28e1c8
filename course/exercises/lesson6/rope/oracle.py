"""Rotary position embedding as a turn of complex numbers, in whatever precision the inputs have."""

import torch

_PLACES = 64  # rows of the tables
_FURTHER = 11  # how far all positions move in the case of that property
_SAME = 1e-4  # relative to the largest; rounding is a hundred times smaller


def make_inputs(case, generator):
    """x (tokens, heads, head) float32, positions (tokens,) int64, cos and sin (places, head // 2) float32.

    With the property ``distances`` the second half of the tokens is the first half again, at positions further on.
    """
    tokens, half = case["tokens"], case["tokens"] // 2
    x = torch.randn(tokens, case["heads"], case["head"], generator=generator)
    shuffled = torch.randperm(_PLACES - _FURTHER, generator=generator)[:tokens]
    counted = torch.arange(tokens)
    positions = {"in order": counted, "from 37": 37 + counted, "any": shuffled, "all 0": 0 * counted}[case["positions"]]
    if case.get("property") == "distances":
        x[half : 2 * half], positions[half : 2 * half] = x[:half], positions[:half] + _FURTHER
    pairs = torch.arange(case["head"] // 2).double()
    angles = torch.arange(_PLACES)[:, None] * case["base"] ** (-2 * pairs / case["head"])
    return {"x": x, "positions": positions, "cos": angles.cos().float(), "sin": angles.sin().float()}


def oracle(case, inputs):
    """y (tokens, heads, head): each pair as a complex number, times cos + i sin; lengths and distances: all true."""
    turn = torch.complex(inputs["cos"], inputs["sin"])[inputs["positions"]][:, None, :]
    turned = _as_complex(case, inputs["x"]) * turn
    if case["interleaved"]:
        y = torch.stack([turned.real, turned.imag], -1).flatten(-2)
    else:
        y = torch.cat([turned.real, turned.imag], -1)
    lengths, distances = _properties(case)
    return {"y": y, "lengths": torch.ones(lengths).bool(), "distances": torch.ones(distances).bool()}


def limits(case):
    """A program's part of y is one token."""
    return {"largest_share.y": case["heads"] * case["head"]}


def _as_complex(case, x):
    """(tokens, heads, head) as complex numbers (tokens, heads, head // 2), one for each pair."""
    pairs = x.unflatten(-1, (-1, 2)) if case["interleaved"] else x.unflatten(-1, (2, -1)).transpose(-1, -2)
    return torch.complex(pairs[..., 0].contiguous(), pairs[..., 1].contiguous())


def _properties(case):
    """The shapes of lengths (token, head, pair) and distances (head, query, key); empty where a case is for neither."""
    half, named = case["tokens"] // 2, case.get("property")
    lengths = (case["tokens"], case["heads"], case["head"] // 2) if named == "lengths" else (0, 0, 0)
    distances = (case["heads"], half, half) if named == "distances" and half else (0, 0, 0)
    return lengths, distances


def observe(case, inputs, outputs):
    """y as it is, and which pairs keep their lengths and which scores stay the same."""
    y, half = outputs["y"].double(), case["tokens"] // 2
    found = {name: torch.ones(0, 0, 0).bool() for name in ("lengths", "distances")}
    if case.get("property") == "lengths":
        before, after = (_as_complex(case, z).abs() for z in (inputs["x"].double(), y))
        found["lengths"] = (before - after).abs() <= _SAME * before.max()
    if case.get("property") == "distances" and half:
        before, after = (torch.einsum("qhd,khd->hqk", z, z) for z in (y[:half], y[half : 2 * half]))
        found["distances"] = (before - after).abs() <= _SAME * before.abs().max()
    return {**outputs, **found}
