"""Attention of several heads and its log-sum-exp, unfused, in whatever precision the inputs have."""

import torch


def make_inputs(case, generator):
    """q, k and v (heads * nseq, head) in the case's dtype; ``spread`` scales the scores."""
    shape, dtype = (case["heads"] * case["nseq"], case["head"]), getattr(torch, case["dtype"])
    q, k, v = (torch.randn(shape, generator=generator) for _ in range(3))
    return {"q": (q * case["spread"]).to(dtype), "k": k.to(dtype), "v": v.to(dtype)}


def oracle(case, inputs):
    """o (heads * nseq, head) = softmax(s) v and lse (heads * nseq,) = log sum exp(s) for s = scale * q k^T, by head."""
    q, k, v = (inputs[name].view(case["heads"], case["nseq"], case["head"]) for name in "qkv")
    s = case["scale"] * (q @ k.transpose(1, 2))
    if case["causal"]:
        future = torch.ones(s.shape[1:], dtype=torch.bool).triu(1)
        s = s.masked_fill(future, float("-inf"))
    return {"o": (torch.softmax(s, -1) @ v).flatten(0, 1), "lse": torch.logsumexp(s, -1).flatten()}
