"""Attention and its log-sum-exp, unfused, in whatever precision the inputs have."""

import torch


def make_inputs(case, generator):
    """q (seqlen_q, head), k and v (seqlen_k, head), float32.

    ``spread`` scales the scores, ``shift`` moves all of them by that much.  ``rising`` makes keys grow along the sequence, so that the running maximum keeps
    moving from chunk to chunk.  ``keys_made``, in probes, is how many keys are made, of which the first seqlen_k are
    used.  With ``one_hot``, v has a 1 in the column of its chunk, so that o holds the weights by chunk.
    """
    keys = case.get("keys_made", case["seqlen_k"])
    q = torch.randn(case["seqlen_q"], case["head"], generator=generator) * case["spread"]
    k = torch.randn(keys, case["head"], generator=generator)
    if case["rising"]:
        k = k * torch.linspace(0.2, 4.0, keys)[:, None]
    if case["shift"]:
        q[:, 0], k[:, 0] = case["shift"] / case["scale"], 1.0
    v = torch.randn(keys, case["head"], generator=generator)
    if case.get("one_hot"):
        v = torch.eye(case["head"])[torch.arange(keys) // case["block_n"]]
    return {"q": q, "k": k[: case["seqlen_k"]], "v": v[: case["seqlen_k"]]}


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
