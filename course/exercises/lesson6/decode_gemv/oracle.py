"""A matrix times a vector, in parts and as a whole, in whatever precision the inputs have."""

import torch

_SAME = 1e-4  # relative to the largest y; rounding is a hundred times smaller


def make_inputs(case, generator):
    """x (columns,) and w (rows, columns), float32, around 1: a sum that happened to be near 0 would have no bar.

    With ``zeros``, x is 0 in the second split. With ``sums``, the last third of the rows of w is the sum of the first
    two thirds.
    """
    x = 1 + torch.randn(case["columns"], generator=generator)
    w = 1 + torch.randn(case["rows"], case["columns"], generator=generator)
    if case.get("zeros"):
        x[case["chunk"] : 2 * case["chunk"]] = 0.0
    if case.get("sums"):
        third = case["rows"] // 3
        w[2 * third : 3 * third] = w[:third] + w[third : 2 * third]
    return {"x": x, "w": w}


def oracle(case, inputs):
    """partial (splits, rows), the sum over each split's columns; y (rows,) = w x; agree and linear: all true."""
    x, w = inputs["x"], inputs["w"]
    parts = zip(w.split(case["chunk"], 1), x.split(case["chunk"]), strict=True)
    agree, linear = _properties(case)
    return {
        "partial": torch.stack([w_part @ x_part for w_part, x_part in parts]),
        "y": w @ x,
        "agree": torch.ones(agree, dtype=torch.bool),
        "linear": torch.ones(linear, dtype=torch.bool),
    }


def observe(case, inputs, outputs):
    """partial and y as they are; in which rows another chunk gives the same y, and which sums of rows give sums."""
    y = outputs["y"].double()
    largest = y.abs().max()
    agree, third = _properties(case)
    found = {"agree": torch.ones(0).bool(), "linear": torch.ones(0).bool()}
    if agree:
        found["agree"] = (y - outputs["y_other"].double()).abs() <= _SAME * largest
    if third:
        found["linear"] = (y[:third] + y[third : 2 * third] - y[2 * third : 3 * third]).abs() <= _SAME * largest
    return {"partial": outputs["partial"], "y": outputs["y"], **found}


def limits(case):
    """A program's part of partial and y is one tile of rows. Proof that each weight is read once, for one case: in tiles
    of the block sizes, and x once a tile of rows."""
    part = dict.fromkeys(("largest_share.partial", "largest_share.y"), case["block_n"])
    if not case.get("counted"):
        return part
    tiles = -(-case["rows"] // case["block_n"])
    return {
        **part,
        "largest_load.w": case["block_n"] * case["block_k"],
        "total_load.w": case["rows"] * case["columns"],
        "total_load.x": tiles * case["columns"],
    }


def _properties(case):
    """How many rows are compared for agree, and how many sums for linear."""
    return case["rows"] if "other_chunk" in case else 0, case["rows"] // 3 if case.get("sums") else 0
