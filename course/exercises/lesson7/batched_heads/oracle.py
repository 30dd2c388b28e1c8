"""Attention of every head of every batch, unfused, in whatever precision the inputs have."""

import torch


def make_inputs(case, generator):
    """q (batch, heads, seqlen_q, head), k and v (batch, heads, seqlen_k, head), float32; twice over with ``twin``.

    ``spread`` scales the scores, ``shift`` moves all of them by that much. Keys grow along the sequence, so that the
    running maximum keeps moving.
    """
    batch, heads, seqlen_k, head = (case[name] for name in ("batch", "heads", "seqlen_k", "head"))
    q = torch.randn(batch, heads, case["seqlen_q"], head, generator=generator) * case["spread"]
    k = torch.randn(batch, heads, seqlen_k, head, generator=generator) * torch.linspace(0.2, 3.0, seqlen_k)[:, None]
    if case["shift"]:
        q[..., 0], k[..., 0] = case["shift"] / case["scale"], 1.0
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
    """No tile is larger than its block, keys and values are read at most twice for each query tile, whose rows are all
    that a program writes."""
    tiles = case["batch"] * case["heads"] * -(-case["seqlen_q"] // case["block_m"])
    whole = 2 * tiles * case["seqlen_k"] * case["head"]
    return {
        "largest_dimension": max(case["block_m"], case["block_n"], case["block_d"]),
        "total_load.k": whole,
        "total_load.v": whole,
        "largest_share.o": case["block_m"] * case["head"],
    }


# For `grade trace`: the running state is that of the lesson's kernel, whose oracle tells of it. Rows are counted
# through all heads, one head's after another's.
STATE_OF = "flash_attention"


def by_row(case, x):
    """An output as rows, in the order in which `tile` counts them."""
    return x.flatten(0, 2)


def keys_at(case, inputs, program):
    """Where each key of a program's head lies among the rows of k and v; -1 where their rows are no rows in memory."""
    if (case["k"], case["v"]) != ("bhnd", "bhnd"):
        return [-1] * case["seqlen_k"]
    first = program % (case["batch"] * case["heads"]) * case["seqlen_k"]
    return range(first, first + case["seqlen_k"])


def tile(case, program):
    """The first row of a program's query tile, the number of its rows that exist, and its height."""
    number, place = divmod(program, case["batch"] * case["heads"])
    start = number * case["block_m"]
    rows = max(0, min(case["block_m"], case["seqlen_q"] - start))
    return place * case["seqlen_q"] + start, rows, case["block_m"]


def chunks(case):
    """The first and last key of each chunk, in the order of the keys."""
    starts = range(0, case["seqlen_k"], case["block_n"])
    return [(first, min(first + case["block_n"], case["seqlen_k"]) - 1) for first in starts]


def _scores_and_values(case, inputs, program):
    """s (rows, seqlen_k) of a program's rows, -inf for keys that a row may not see, and v (seqlen_k, head)."""
    first, rows, _ = tile(case, program)
    place = program % (case["batch"] * case["heads"])
    k, v = (inputs[name].flatten(0, 1)[place] for name in "kv")
    s = case["scale"] * (by_row(case, inputs["q"])[first : first + rows] @ k.T)
    if case["causal"]:
        keys = torch.arange(k.shape[0])[None, :]
        s = s.masked_fill(
            keys > torch.arange(first, first + rows)[:, None] % case["seqlen_q"] + k.shape[0] - case["seqlen_q"],
            float("-inf"),
        )
    return s, v


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
