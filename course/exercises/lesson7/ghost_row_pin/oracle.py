"""What pin_ghost_rows must return, seen through the row maxima and the attention mass per key."""

import torch


def make_inputs(case, generator):
    """s: (rows, block_n) float32 as the mask leaves it: ghosts and, if causal, the future at -inf.

    Live scores are spread around ``centre``; odd rows are spread around -``centre``.
    """
    nseq, block_m, block_n = case["nseq"], case["block_m"], case["block_n"]
    rows = -(-nseq // block_m) * block_m
    row = torch.arange(rows)[:, None]
    column = torch.arange(block_n)[None, :]
    s = torch.randn(rows, block_n, generator=generator) + case["centre"] * (1 - 2 * (row % 2))
    keep = (row < nseq) & (column < nseq)
    if case["causal"]:
        keep = keep & (column <= row)
    return {"s": s.masked_fill(~keep, float("-inf"))}


def oracle(case, inputs):
    """m (nseq,), finite (rows,) bool, mass (tiles, block_n): each tile's column sums of softmax(s)."""
    live = inputs["s"][: case["nseq"]]
    ghosts = inputs["s"].shape[0] - case["nseq"]
    p = torch.nn.functional.pad(torch.softmax(live, 1), (0, 0, 0, ghosts))
    return {
        "m": live.amax(1),
        "finite": torch.ones(inputs["s"].shape[0], dtype=torch.bool),
        "mass": p.reshape(-1, case["block_m"], p.shape[1]).sum(1),
    }


def observe(case, inputs, outputs):
    """What is compared: a ghost row's m may be any finite number."""
    m = outputs["m"]
    return {"m": m[: case["nseq"]], "finite": torch.isfinite(m), "mass": outputs["mass"]}
