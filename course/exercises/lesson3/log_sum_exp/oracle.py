"""The log-sum-exp of each row, and two properties that it has: a shift comes out as it goes in, order does not matter."""

import torch


def make_inputs(case, generator):
    """x (m, n) float32: spread around ``centre`` by ``spread``, in steps of 1/1024, so that a shift is exact.

    ``masked`` sets about two scores of three to -inf, and the last ``dead`` rows are -inf throughout.  The rows of the
    second half are twins of those of the first where ``shift`` is added to them, or where they are ``turned`` round.
    ``spare``, in probes, is how many more rows there are in memory.
    """
    m, n = case["m"], case["n"]
    x = torch.randn(m + case.get("spare", 0), n, generator=generator) * case["spread"] + case["centre"]
    x = torch.round(x * 1024) / 1024
    if case["masked"]:
        row, column = torch.arange(len(x))[:, None], torch.arange(n)[None, :]
        x = x.masked_fill(((row + column) % 3 != 0) & (column != row % n), float("-inf"))
    x[max(0, m - case["dead"]) : m] = float("-inf")
    half = m // 2
    if case["shift"]:
        x[half : 2 * half] = x[:half] + case["shift"]
    elif case["turned"]:
        x[half : 2 * half] = x[:half].flip(1)
    return {"x": x}


def oracle(case, inputs):
    """lse (m,) = log sum exp(x) of each row; shifted and turned_round are true for each pair of twins, if any."""
    holds = torch.ones(case["m"] // 2, dtype=torch.bool)
    none = torch.ones(0, dtype=torch.bool)
    return {
        "lse": torch.logsumexp(inputs["x"][: case["m"]], 1),
        "shifted": holds if case["shift"] else none,
        "turned_round": holds if case["turned"] else none,
    }


def limits(case):
    """A program's part of lse is one tile of rows."""
    return {"largest_share.lse": case["block_m"]}


def observe(case, inputs, outputs):
    """lse, and for each pair of twins whether theirs belong together, as far as rounding lets them."""
    lse, half = outputs["lse"], case["m"] // 2
    first, second, none = lse[:half].double(), lse[half : 2 * half].double(), torch.ones(0, dtype=torch.bool)
    same = torch.isclose(first + case["shift"], second, rtol=1e-6, atol=1e-5)
    return {
        "lse": lse,
        "shifted": same if case["shift"] else none,
        "turned_round": same if case["turned"] else none,
    }
