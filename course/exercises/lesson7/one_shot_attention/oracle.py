"""Attention in three lines, in whatever precision the inputs have."""

import torch


def make_inputs(case, generator):
    """q, k, v: (nseq, head) float32. ``spread`` scales the scores, ``shift`` moves all of them by that much.

    With ``one_hot_by``, in probes, v has a 1 in the columns of its chunk of so many keys: o holds the weights by chunk.
    """
    shape = (case["nseq"], case["head"])
    q, k, v = (torch.randn(shape, generator=generator) for _ in range(3))
    q = q * case["spread"]
    if case["shift"]:
        q[:, 0], k[:, 0] = case["shift"] / case["scale"], 1.0
    if "one_hot_by" in case:
        v = _one_hot(torch.arange(case["nseq"]) // case["one_hot_by"], case["head"])
    return {"q": q, "k": k, "v": v}


def _one_hot(chunk, width):
    """1 in each column that is the row's chunk modulo an odd number above that of chunks, so that columns repeat."""
    chunks = int(chunk.max()) + 1
    period = chunks + 1 + chunks % 2
    return (torch.arange(width) % period == chunk[:, None]).float()


def oracle(case, inputs):
    """o: (nseq, head) = softmax(scale * q k^T) v."""
    s = case["scale"] * (inputs["q"] @ inputs["k"].T)
    if case["causal"]:
        future = torch.ones_like(s, dtype=torch.bool).triu(1)
        s = s.masked_fill(future, float("-inf"))
    return {"o": torch.softmax(s, dim=1) @ inputs["v"]}


def limits(case):
    """A program's part of o is one query tile."""
    return {"largest_share.o": case["block_m"] * case["head"]}
