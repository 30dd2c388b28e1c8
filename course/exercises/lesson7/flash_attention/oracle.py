"""Attention and its log-sum-exp, unfused, in whatever precision the inputs have."""

import torch


def make_inputs(case, generator):
    """q (seqlen_q, head), k and v (seqlen_k, head), float32.

    ``spread`` scales the scores, ``shift`` moves all of them by that much.  ``rising`` makes keys grow along the sequence, so that the running maximum keeps
    moving from chunk to chunk.
    """
    q = torch.randn(case["seqlen_q"], case["head"], generator=generator) * case["spread"]
    k = torch.randn(case["seqlen_k"], case["head"], generator=generator)
    if case["rising"]:
        k = k * torch.linspace(0.2, 4.0, case["seqlen_k"])[:, None]
    if case["shift"]:
        q[:, 0], k[:, 0] = case["shift"] / case["scale"], 1.0
    return {"q": q, "k": k, "v": torch.randn(case["seqlen_k"], case["head"], generator=generator)}


def oracle(case, inputs):
    """o (seqlen_q, head) = softmax(s) v and lse (seqlen_q,) = log sum exp(s) for s = scale * q k^T.

    Causal is aligned at the last key; a dead row, one that sees no key, has o = 0 and lse = -inf.
    """
    s = case["scale"] * (inputs["q"] @ inputs["k"].T)
    if case["causal"]:
        future = torch.ones_like(s, dtype=torch.bool).triu(1 + case["seqlen_k"] - case["seqlen_q"])
        s = s.masked_fill(future, float("-inf"))
    lse = torch.logsumexp(s, 1)
    p = torch.nan_to_num(torch.softmax(s, 1))  # 0 / 0 in a dead row
    return {"o": p @ inputs["v"], "lse": lse}


def limits(case):
    """Proof of streaming, for the long case: no load takes more than a chunk of keys, none is read over twice."""
    if not case["streaming"]:
        return {}
    programs = -(-case["seqlen_q"] // case["block_m"])
    sequence = programs * case["seqlen_k"] * case["head"]
    chunk = case["block_n"] * case["head"]
    return {
        "largest_load.k": chunk,
        "largest_load.v": chunk,
        "total_load.k": 2 * sequence,
        "total_load.v": 2 * sequence,
        "largest_dimension": max(case["block_m"], case["block_n"], case["head"]),
    }
