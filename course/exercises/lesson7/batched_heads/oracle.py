"""Attention of every head of every batch, unfused, in whatever precision the inputs have."""

import torch


def make_inputs(case, generator):
    """q (batch, heads, seqlen_q, head), k and v (batch, heads, seqlen_k, head), float32; twice over with ``twin``.

    ``spread`` scales the scores. Keys grow along the sequence, so that the running maximum keeps moving.
    """
    batch, heads, seqlen_k, head = (case[name] for name in ("batch", "heads", "seqlen_k", "head"))
    q = torch.randn(batch, heads, case["seqlen_q"], head, generator=generator) * case["spread"]
    k = torch.randn(batch, heads, seqlen_k, head, generator=generator) * torch.linspace(0.2, 3.0, seqlen_k)[:, None]
    v = torch.randn(batch, heads, seqlen_k, head, generator=generator)
    inputs = {"q": q, "k": k, "v": v}
    if case["twin"]:
        inputs |= {f"{name}_twin": x for name, x in inputs.items()}
    return inputs


def oracle(case, inputs):
    """o (batch, heads, seqlen_q, head) = softmax(scale * q k^T) v, 0 for a row that sees no key; layouts agree.

    Causal is aligned at the last key.
    """
    s = case["scale"] * (inputs["q"] @ inputs["k"].mT)
    if case["causal"]:
        rows, keys = torch.arange(case["seqlen_q"])[:, None], torch.arange(case["seqlen_k"])[None, :]
        s = s.masked_fill(keys > rows + case["seqlen_k"] - case["seqlen_q"], float("-inf"))
    p = torch.nan_to_num(torch.softmax(s, -1))  # 0 / 0 in a dead row
    return {"o": p @ inputs["v"], "layout": torch.ones(_twins(case), dtype=torch.bool)}


def observe(case, inputs, outputs):
    """o, and with a twin whether each head of each batch came out the same in both layouts, to the bit."""
    o = outputs["o"]
    same = (o == outputs["o_twin"]).flatten(2).all(2).flatten() if case["twin"] else torch.ones(0, dtype=torch.bool)
    return {"o": o, "layout": same}


def _twins(case):
    return case["batch"] * case["heads"] if case["twin"] else 0


def limits(case):
    """No tile is larger than its block, and keys and values are read at most twice for each query tile."""
    tiles = case["batch"] * case["heads"] * -(-case["seqlen_q"] // case["block_m"])
    whole = 2 * tiles * case["seqlen_k"] * case["head"]
    return {
        "largest_dimension": max(case["block_m"], case["block_n"], case["block_d"]),
        "total_load.k": whole,
        "total_load.v": whole,
    }
