"""Attention with an additive bias and ALiBi, unfused, in whatever precision the inputs have."""

import torch

_PADDING = 50.0  # what lies between the rows of a bias and must not be read: it would take all weight


def make_inputs(case, generator):
    """q (heads, seqlen_q, head), k and v (heads, seqlen_k, head), bias (heads or 1, seqlen_q or 1, seqlen_k + gap) and
    slopes (heads,), float32.

    ``spread`` scales the scores.  ``bias`` is ``full`` for one of each head and query, ``heads`` for one of each query
    that all heads share, ``keys`` for one that all queries share too, in steps of 1/1024 around ``centre`` and of size
    ``bias_spread``.  Its first ``padded`` keys are -inf, in head h but for the last h of them.  ``hidden`` sets about
    two elements of three to -inf.  ``alibi`` sets the slopes to 2^(-8 (h + 1) / heads), which are 0 otherwise.

    ``again`` is ``none``, or ``shift`` for a second bias that is larger by 64, or ``alibi`` for one that holds what
    ALiBi takes off, with slopes of 0.
    """
    heads, nq, nk = case["heads"], case["seqlen_q"], case["seqlen_k"]
    q = torch.randn(heads, nq, case["head"], generator=generator) * case["spread"]
    k = torch.randn(heads, nk, case["head"], generator=generator)
    v = torch.randn(heads, nk, case["head"], generator=generator)
    shape = {"full": (heads, nq, nk), "heads": (1, nq, nk), "keys": (1, 1, nk)}[case["bias"]]
    bias = torch.round(torch.randn(shape, generator=generator) * case["bias_spread"] * 1024) / 1024 + case["centre"]
    head, row, key = (torch.arange(n).reshape(shape) for n, shape in _axes(*shape))
    if case["hidden"]:
        bias = bias.masked_fill((row + key + head) % 3 != 0, float("-inf"))
    bias = bias.masked_fill(key < case["padded"] - head, float("-inf"))
    slopes = 2.0 ** (-8.0 * torch.arange(1, heads + 1) / heads) if case["alibi"] else torch.zeros(heads)
    inputs = {"q": q, "k": k, "v": v, "bias": _with_gap(bias, case["gap"]), "slopes": slopes}
    if case["again"] == "shift":
        inputs |= {"bias_again": _with_gap(bias + 64.0, case["gap"]), "slopes_again": slopes}
    elif case["again"] == "alibi":
        whole = bias - slopes[:, None, None] * distance(case)
        inputs |= {"bias_again": _with_gap(whole, case["gap"]), "slopes_again": torch.zeros(heads)}
    return inputs


def _axes(heads, rows, keys):
    return (heads, (-1, 1, 1)), (rows, (1, -1, 1)), (keys, (1, 1, -1))


def _with_gap(bias, gap):
    return torch.nn.functional.pad(bias, (0, gap), value=_PADDING)


def distance(case):
    """(seqlen_q, seqlen_k): how far each key is from the place of each query, which is aligned at the last key."""
    place = torch.arange(case["seqlen_q"])[:, None] + case["seqlen_k"] - case["seqlen_q"]
    return (place - torch.arange(case["seqlen_k"])[None, :]).abs()


def oracle(case, inputs):
    """o (heads, seqlen_q, head) = softmax(s) v and lse (heads, seqlen_q) = log sum exp(s).

    A dead row, one that sees no key, has o = 0 and lse = -inf.  The properties are true wherever they are looked at.
    """
    s = case["scale"] * (inputs["q"] @ inputs["k"].mT) + inputs["bias"][..., : case["seqlen_k"]]
    s = s - inputs["slopes"][:, None, None] * distance(case)
    if case["causal"]:
        future = torch.ones_like(s, dtype=torch.bool).triu(1 + case["seqlen_k"] - case["seqlen_q"])
        s = s.masked_fill(future, float("-inf"))
    p = torch.nan_to_num(torch.softmax(s, 2))  # 0 / 0 in a dead row
    return {"o": p @ inputs["v"], "lse": torch.logsumexp(s, 2), **_properties(case, None)}


def observe(case, inputs, outputs):
    """o, lse, and the properties, as far as rounding lets them be."""
    return {"o": outputs["o"], "lse": outputs["lse"], **_properties(case, outputs)}


def _properties(case, outputs):
    """Whether each property holds, by head and row; true without outputs, and empty where it is not looked at."""
    none, rows = torch.ones(0, 0, dtype=torch.bool), torch.ones(case["heads"], case["seqlen_q"], dtype=torch.bool)
    found = {}
    for name, moved in (("shift", 64.0), ("alibi", 0.0)):
        found[name] = rows if case["again"] == name else none
        if case["again"] == name and outputs is not None:
            same = torch.isclose(outputs["o"], outputs["o_again"], rtol=1e-3, atol=1e-4).all(2)
            found[name] = same & torch.isclose(outputs["lse"] + moved, outputs["lse_again"], rtol=1e-5, atol=1e-4)
    return found


def limits(case):
    """Proof of streaming, for the long case: no load takes more than a chunk, and nothing is read over twice."""
    if not case["streaming"]:
        return {}
    programs = -(-case["seqlen_q"] // case["block_m"]) * case["heads"]
    sequence = programs * case["seqlen_k"] * case["head"]
    chunk = case["block_n"] * case["head"]
    return {
        "largest_load.k": chunk,
        "largest_load.v": chunk,
        "largest_load.bias": case["block_m"] * case["block_n"],
        "total_load.k": 2 * sequence,
        "total_load.v": 2 * sequence,
        "total_load.bias": 2 * programs * case["block_m"] * case["seqlen_k"],
        "largest_dimension": max(case["block_m"], case["block_n"], case["head"]),
    }
