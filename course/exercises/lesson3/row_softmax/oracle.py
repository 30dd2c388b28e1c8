"""The softmax of each row, and two properties that it has: shifts change nothing, and order goes through."""

import torch


def make_inputs(case, generator):
    """x (m, n) float32: spread around ``centre`` by ``spread``, in steps of 1/1024, so that a shift is exact.

    ``masked`` sets about two scores of three to -inf, never all of a row.  The rows of the second half are twins of those
    of the first where ``shift`` is added to them, or where they are ``turned`` round.
    ``spare``, in probes, is how many more rows there are in memory.
    """
    m, n = case["m"], case["n"]
    x = torch.randn(m + case.get("spare", 0), n, generator=generator) * case["spread"] + case["centre"]
    x = torch.round(x * 1024) / 1024
    if case["masked"]:
        row, column = torch.arange(len(x))[:, None], torch.arange(n)[None, :]
        x = x.masked_fill(((row + column) % 3 != 0) & (column != row % n), float("-inf"))
    half = _pairs(case)
    if case["shift"]:
        x[half : 2 * half] = x[:half] + case["shift"]
    elif case["turned"]:
        x[half : 2 * half] = x[:half].flip(1)
    return {"x": x}


def oracle(case, inputs):
    """y (m, n) = softmax(x) along the rows; shifted and turned_round are true for each pair of twins, if there are any."""
    holds = torch.ones(_pairs(case), dtype=torch.bool)
    none = torch.ones(0, dtype=torch.bool)
    return {
        "y": torch.softmax(inputs["x"][: case["m"]], 1),
        "shifted": holds if case["shift"] else none,
        "turned_round": holds if case["turned"] else none,
    }


def limits(case):
    """A program's part of y is one tile of rows."""
    return {"largest_share.y": case["block_m"] * case["n"]}


def observe(case, inputs, outputs):
    """y, and for each pair of twins whether their softmax is the same, as far as rounding lets it be."""
    y, half = outputs["y"], _pairs(case)
    first, second, none = y[:half], y[half : 2 * half], torch.ones(0, dtype=torch.bool)
    return {
        "y": y,
        "shifted": _same(first, second) if case["shift"] else none,
        "turned_round": _same(first, second.flip(1)) if case["turned"] else none,
    }


def _pairs(case):
    return case["m"] // 2


def _same(one, other):
    """Per row: weights are at most 1, and float32 has seven digits."""
    return torch.isclose(one, other, rtol=1e-4, atol=1e-6).all(1)
