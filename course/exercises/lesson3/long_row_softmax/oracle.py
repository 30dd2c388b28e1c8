"""The softmax of each row, and what does not change it: a shift, the order of the scores, the size of the chunks."""

import torch


def make_inputs(case, generator):
    """x (m, n) float32, in steps of 1/1024, so that a shift is exact.

    The scores of the first chunk are spread around ``centre`` by ``spread``; ``drift`` is what this mean changes by per
    chunk.  ``masked`` sets about two scores of three to -inf.  The first ``padded`` columns are -inf in all rows but every
    fourth, as in a batch that is padded on the left.  The rows of the second half are twins of those of the first where
    ``shift`` is added to them, or where they are ``turned`` round.  In probes, ``spare`` is how many more rows there are
    in memory, and ``columns_made`` how many columns are made, of which the first n are used.
    """
    m, n = case["m"], case.get("columns_made", case["n"])
    x = torch.randn(m + case.get("spare", 0), n, generator=generator) * case["spread"] + case["centre"]
    x = x + case["drift"] * (torch.arange(n) // case["block_n"])
    x = torch.round(x * 1024) / 1024
    row, column = torch.arange(len(x))[:, None], torch.arange(n)[None, :]
    if case["masked"]:
        x = x.masked_fill(((row + column) % 3 != 0) & (column != row % case["n"]), float("-inf"))
    x = x.masked_fill((column < min(case["padded"], case["n"] - 1)) & (row % 4 != 3), float("-inf"))
    half = m // 2
    if case["shift"]:
        x[half : 2 * half] = x[:half] + case["shift"]
    elif case["turned"]:
        x[half : 2 * half] = x[:half].flip(1)
    return {"x": x[:, : case["n"]].contiguous()}


def oracle(case, inputs):
    """y (m, n) = softmax(x) along the rows; the properties are true wherever they are looked at."""
    pairs, rows = torch.ones(case["m"] // 2, dtype=torch.bool), torch.ones(case["m"], dtype=torch.bool)
    none = torch.ones(0, dtype=torch.bool)
    return {
        "y": torch.softmax(inputs["x"][: case["m"]], 1),
        "shifted": pairs if case["shift"] else none,
        "turned_round": pairs if case["turned"] else none,
        "chunk_size": rows if case["other_block"] else none,
    }


def observe(case, inputs, outputs):
    """y, and whether what must not change it does not, as far as rounding lets it be."""
    y, half, none = outputs["y"], case["m"] // 2, torch.ones(0, dtype=torch.bool)
    first, second = y[:half], y[half : 2 * half]
    return {
        "y": y,
        "shifted": _same(first, second) if case["shift"] else none,
        "turned_round": _same(first, second.flip(1)) if case["turned"] else none,
        "chunk_size": _same(y, outputs["y_other"]) if case["other_block"] else none,
    }


def limits(case):
    """A program's part is one tile of rows. Proof of streaming, for the long row: no load takes more than a chunk, x is
    read twice at the most, and y not at all."""
    part = dict.fromkeys(("largest_share.y", "largest_share.y_other"), case["block_m"] * case["n"])
    if not case["streaming"]:
        return part
    return {
        **part,
        "total_load.y": 0,
        "largest_load.x": case["block_m"] * case["block_n"],
        "total_load.x": 2 * case["m"] * case["n"],
        "largest_dimension": max(case["block_m"], case["block_n"]),
    }


def _same(one, other):
    """Per row: weights are at most 1, and float32 has seven digits."""
    return torch.isclose(one, other, rtol=1e-4, atol=1e-6).all(1)
