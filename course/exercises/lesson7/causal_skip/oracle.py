"""Causal attention and its log-sum-exp, unfused, in whatever precision the inputs have."""

import torch


def make_inputs(case, generator):
    """q (seqlen_q, head), k and v (seqlen_k, head), float32; the last ``poisoned`` keys and their values are NaN.

    ``spread`` scales the scores, ``shift`` moves all of them by that much. Keys grow along the sequence, so that the
    running maximum keeps moving. With ``one_hot``, v has a 1 in the columns of its chunk, so that o holds the weights by
    chunk.
    """
    seqlen_k = case["seqlen_k"]
    q = torch.randn(case["seqlen_q"], case["head"], generator=generator) * case["spread"]
    k = torch.randn(seqlen_k, case["head"], generator=generator) * torch.linspace(0.2, 4.0, seqlen_k)[:, None]
    if case["shift"]:
        q[..., 0], k[..., 0] = case["shift"] / case["scale"], 1.0
    v = torch.randn(seqlen_k, case["head"], generator=generator)
    if case.get("one_hot"):
        v = _one_hot(torch.arange(seqlen_k) // case["block_n"], case["head"])
    for x in (k, v):
        x[_first_poisoned(case) :] = float("nan")
    return {"q": q, "k": k, "v": v}


def _one_hot(chunk, width):
    """1 in each column that is the row's chunk modulo an odd number above that of chunks, so that columns repeat."""
    chunks = int(chunk.max()) + 1
    period = chunks + 1 + chunks % 2
    return (torch.arange(width) % period == chunk[:, None]).float()


def _first_poisoned(case):
    return case["seqlen_k"] - case["poisoned"]


def _clean_rows(case):
    """The rows that see no poison: all, or those of the first query tiles. Their tiles need not read any."""
    return case["seqlen_q"] - case["poisoned"]


def oracle(case, inputs):
    """o (rows, head) = softmax(s) v and lse (rows,) = log sum exp(s) for s = scale * q k^T, of the rows without poison.

    Causal is aligned at the last key; a dead row, one that sees no key, has o = 0 and lse = -inf.
    """
    clean = _first_poisoned(case)
    s = case["scale"] * (inputs["q"][: _clean_rows(case)] @ inputs["k"][:clean].T)
    rows, keys = torch.arange(_clean_rows(case))[:, None], torch.arange(clean)[None, :]
    s = s.masked_fill(keys > rows + case["seqlen_k"] - case["seqlen_q"], float("-inf"))
    p = torch.nan_to_num(torch.softmax(s, 1))  # 0 / 0 in a dead row
    return {"o": p @ inputs["v"][:clean], "lse": torch.logsumexp(s, 1)}


def observe(case, inputs, outputs):
    """The rows that see no poison, of which there is none in most cases."""
    rows = _clean_rows(case)
    return {name: x[:rows] for name, x in outputs.items()}


def limits(case):
    """Each chunk that some row of a tile sees is read once, and nothing else; no tile is larger than its block, and a
    program writes the rows of one."""
    offset, loaded = case["seqlen_k"] - case["seqlen_q"], 0
    for first in range(0, case["seqlen_q"], case["block_m"]):
        end = min(first + case["block_m"], case["seqlen_q"]) + offset
        loaded += min(-(-max(end, 0) // case["block_n"]) * case["block_n"], case["seqlen_k"])
    return {
        "total_load.k": loaded * case["head"],
        "total_load.v": loaded * case["head"],
        "largest_load.k": case["block_n"] * case["head"],
        "largest_load.v": case["block_n"] * case["head"],
        "largest_share.o": case["block_m"] * case["head"],
        "largest_share.lse": case["block_m"],
        "largest_dimension": max(case["block_m"], case["block_n"], case["head"]),
    }


# For `grade trace`: the running state is that of the lesson's kernel, and its oracle tells of it.
STATE_OF = "flash_attention"
