"""Attention in which each key head serves a group of query heads, unfused, in whatever precision the inputs have."""

import torch


def make_inputs(case, generator):
    """q (batch, heads_q, seqlen_q, head), k and v (batch, heads_kv, seqlen_k, head), float32.

    ``spread`` scales the scores. Keys grow along the sequence, so that the running maximum keeps moving. With ``twin``,
    k_twin and v_twin have each key head once for every query head of its group.
    """
    batch, seqlen_k, head = case["batch"], case["seqlen_k"], case["head"]
    q = torch.randn(batch, case["heads_q"], case["seqlen_q"], head, generator=generator) * case["spread"]
    k, v = (torch.randn(batch, case["heads_kv"], seqlen_k, head, generator=generator) for _ in "kv")
    k = k * torch.linspace(0.2, 3.0, seqlen_k)[:, None]
    inputs = {"q": q, "k": k, "v": v}
    return {**inputs, "k_twin": _repeated(case, k), "v_twin": _repeated(case, v)} if case["twin"] else inputs


def _repeated(case, x):
    return x.repeat_interleave(case["heads_q"] // case["heads_kv"], dim=1)


def oracle(case, inputs):
    """o (batch, heads_q, seqlen_q, head) = softmax(scale * q k^T) v, 0 for a row that sees no key.

    Causal is aligned at the last key. ``repeated`` is true wherever it is looked at.
    """
    k, v = (_repeated(case, inputs[name]) for name in "kv")
    s = case["scale"] * (inputs["q"] @ k.mT)
    if case["causal"]:
        rows, keys = torch.arange(case["seqlen_q"])[:, None], torch.arange(case["seqlen_k"])[None, :]
        s = s.masked_fill(keys > rows + case["seqlen_k"] - case["seqlen_q"], float("-inf"))
    p = torch.nan_to_num(torch.softmax(s, -1))  # 0 / 0 in a dead row
    heads = case["batch"] * case["heads_q"] if case["twin"] else 0
    return {"o": p @ v, "repeated": torch.ones(heads, dtype=torch.bool)}


def observe(case, inputs, outputs):
    """o, and with a twin whether each head is the same with its keys copied, within a few roundings."""
    o = outputs["o"]
    if not case["twin"]:
        return {"o": o, "repeated": torch.ones(0, dtype=torch.bool)}
    heads, others = (x.flatten(0, 1).flatten(1) for x in (o, outputs["o_twin"]))
    return {"o": o, "repeated": (heads - others).abs().amax(1) <= 4e-6 * others.abs().amax(1)}


def limits(case):
    """Each program reads the keys and values of its group once, and no tile is larger than its block."""
    tiles = -(-case["seqlen_q"] * (case["heads_q"] // case["heads_kv"]) // case["block_m"])
    loaded = case["batch"] * case["heads_kv"] * tiles * case["seqlen_k"] * case["head"]
    return {
        "total_load.k": loaded,
        "total_load.v": loaded,
        "largest_dimension": max(case["block_m"], case["block_n"], case["head"]),
    }
