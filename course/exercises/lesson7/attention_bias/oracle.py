"""Attention with an additive bias and ALiBi, unfused, in whatever precision the inputs have."""

import torch

_PADDING = 50.0  # what lies between the rows of a bias and must not be read: it would take all weight


def make_inputs(case, generator):
    """q (heads, seqlen_q, head), k and v (heads, seqlen_k, head), bias (heads or 1, seqlen_q or 1, seqlen_k + gap) and
    slopes (heads,), float32.

    ``spread`` scales the scores.  ``bias`` is ``full`` for one of each head and query, ``heads`` for one of each query
    that all heads share, ``columns`` for one of each head that all queries share, ``keys`` for one that all share, in
    steps of 1/1024 around ``centre`` and of size
    ``bias_spread``.  Its first ``padded`` keys are -inf, in head h but for the last h of them.  ``hidden`` sets about
    two elements of three to -inf.  ``alibi`` sets the slopes to 3/4 of 2^(-8 (h + 1) / heads), which are 0 otherwise.

    ``again`` is ``none``, or ``shift`` for a second bias that is larger by 64, or ``alibi`` for one that holds what
    ALiBi takes off, with slopes of 0.
    """
    heads, nq, nk = case["heads"], case["seqlen_q"], case["seqlen_k"]
    q = torch.randn(heads, nq, case["head"], generator=generator) * case["spread"]
    k = torch.randn(heads, nk, case["head"], generator=generator)
    v = torch.randn(heads, nk, case["head"], generator=generator)
    shape = {"full": (heads, nq, nk), "heads": (1, nq, nk), "columns": (heads, 1, nk), "keys": (1, 1, nk)}[case["bias"]]
    bias = torch.round(torch.randn(shape, generator=generator) * case["bias_spread"] * 1024) / 1024 + case["centre"]
    head, row, key = (torch.arange(n).reshape(shape) for n, shape in _axes(*shape))
    if case["hidden"]:
        bias = bias.masked_fill((row + key + head) % 3 != 0, float("-inf"))
    bias = bias.masked_fill(key < case["padded"] - head, float("-inf"))
    slopes = 0.75 * 2.0 ** (-8.0 * torch.arange(1, heads + 1) / heads) if case["alibi"] else torch.zeros(heads)
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
    """Proof of streaming, for the long case: no load takes more than a chunk, and nothing is read over twice.

    And, for all cases, that a program writes the rows of one tile alone.
    """
    part = {
        **dict.fromkeys(("largest_share.o", "largest_share.o_again"), case["block_m"] * case["head"]),
        **dict.fromkeys(("largest_share.lse", "largest_share.lse_again"), case["block_m"]),
    }
    if not case["streaming"]:
        return part
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
        **part,
        "largest_dimension": max(case["block_m"], case["block_n"], case["head"]),
    }


# For `grade trace`: the running state is that of the lesson's kernel, whose oracle tells of it. Rows are counted
# through all heads, one head's after another's.
STATE_OF = "flash_attention"


def by_row(case, x):
    """An output as rows, in the order in which `tile` counts them."""
    return x.flatten(0, 1)


def keys_at(case, inputs, program):
    """Where each key of a program's head lies among the rows of k and v."""
    first = program % case["heads"] * case["seqlen_k"]
    return range(first, first + case["seqlen_k"])


def tile(case, program):
    """The first row of a program's query tile, the number of its rows that exist, and its height."""
    number, head = divmod(program, case["heads"])
    start = number * case["block_m"]
    rows = max(0, min(case["block_m"], case["seqlen_q"] - start))
    return head * case["seqlen_q"] + start, rows, case["block_m"]


def chunks(case):
    """The first and last key of each chunk, in the order of the keys."""
    starts = range(0, case["seqlen_k"], case["block_n"])
    return [(first, min(first + case["block_n"], case["seqlen_k"]) - 1) for first in starts]


def _scores_and_values(case, inputs, program):
    """s (rows, seqlen_k) of a program's rows with their bias, -inf for hidden keys, and v (seqlen_k, head)."""
    first, rows, _ = tile(case, program)
    head, start = program % case["heads"], first % case["seqlen_q"] if case["seqlen_q"] else 0
    own = slice(start, start + rows)
    bias = inputs["bias"].expand(case["heads"], case["seqlen_q"], -1)[head, own, : case["seqlen_k"]]
    s = case["scale"] * (inputs["q"][head, own] @ inputs["k"][head].T) + bias
    s = s - inputs["slopes"][head] * distance(case)[own]
    if case["causal"]:
        reach = torch.arange(start, start + rows)[:, None] + case["seqlen_k"] - case["seqlen_q"]
        s = s.masked_fill(torch.arange(case["seqlen_k"])[None, :] > reach, float("-inf"))
    return s, inputs["v"][head]


def states(case, inputs, program, taken):
    """The state of a program's rows after each step of a loop; ``taken`` holds the keys that each step takes.

    Of the scores s of the keys seen so far: m (rows,) = max s, l (rows,) = sum exp(s - m) and
    acc (rows, head) = sum exp(s - m) v; before a row sees a key its m = -inf, l = 0 and acc = 0.
    """
    s, v = _scores_and_values(case, inputs, program)
    seen = torch.zeros(s.shape[1], dtype=torch.bool)
    found = []
    for keys in taken:
        seen[list(keys)] = True
        visible = s.masked_fill(~seen, float("-inf"))
        m = visible.amax(1)
        p = torch.exp(visible - torch.where(torch.isinf(m), 0.0, m)[:, None])
        found.append({"m": m, "l": p.sum(1), "acc": p @ v})
    return found


def given(case, inputs, program, chunk):
    """What a function that takes a chunk in gets to see of it, by the name that online_softmax_update gives it."""
    first, last = chunks(case)[chunk]
    s = _scores_and_values(case, inputs, program)[0][:, first : last + 1]
    return {"s": torch.nn.functional.pad(s, (0, case["block_n"] - s.shape[1]), value=float("-inf"))}
