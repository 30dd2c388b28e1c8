"""What mask_scores must return: real, visible scores untouched, everything else -inf."""

import torch


def make_inputs(case, generator):
    """s: the padded score matrix, float32 and finite everywhere; ``spread`` scales it."""
    rows = -(-case["nseq"] // case["block_m"]) * case["block_m"]
    columns = -(-case["nseq"] // case["block_n"]) * case["block_n"]
    return {"s": torch.randn(rows, columns, generator=generator) * case["spread"]}


def oracle(case, inputs):
    """s with -inf in ghost rows, ghost columns and, if causal, where the key lies after the query."""
    s = inputs["s"]
    row = torch.arange(s.shape[0])[:, None]
    column = torch.arange(s.shape[1])[None, :]
    keep = (row < case["nseq"]) & (column < case["nseq"])
    if case["causal"]:
        keep = keep & (column <= row)
    return {"s": s.masked_fill(~keep, float("-inf"))}
