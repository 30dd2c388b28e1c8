"""Attention in which each key head serves a group of query heads, unfused, in whatever precision the inputs have."""

import torch


def make_inputs(case, generator):
    """q (batch, heads_q, seqlen_q, head), k and v (batch, heads_kv, seqlen_k, head), float32.

    ``spread`` scales the scores, ``shift`` moves all of them by that much. Keys grow along the sequence, so that the
    running maximum keeps moving. With ``twin``, k_twin and v_twin have each key head once for every query head of its
    group.
    """
    batch, seqlen_k, head = case["batch"], case["seqlen_k"], case["head"]
    q = torch.randn(batch, case["heads_q"], case["seqlen_q"], head, generator=generator) * case["spread"]
    k, v = (torch.randn(batch, case["heads_kv"], seqlen_k, head, generator=generator) for _ in "kv")
    k = k * torch.linspace(0.2, 3.0, seqlen_k)[:, None]
    if case["shift"]:
        q[..., 0], k[..., 0] = case["shift"] / case["scale"], 1.0
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
    """Each program reads the keys and values of its group once and writes one tile of rows, and no tile is larger than
    its block."""
    tiles = -(-case["seqlen_q"] * (case["heads_q"] // case["heads_kv"]) // case["block_m"])
    loaded = case["batch"] * case["heads_kv"] * tiles * case["seqlen_k"] * case["head"]
    return {
        "total_load.k": loaded,
        "total_load.v": loaded,
        **dict.fromkeys(("largest_share.o", "largest_share.o_twin"), case["block_m"] * case["head"]),
        "largest_dimension": max(case["block_m"], case["block_n"], case["head"]),
    }


# For `grade trace`: the running state is that of the lesson's kernel, whose oracle tells of it. Rows are
# packed ones, counted through all groups, one group's after another's.
STATE_OF = "flash_attention"


def by_row(case, x):
    """An output as rows, in the order in which `tile` counts them."""
    shape = case["batch"], case["heads_kv"], -1, case["seqlen_q"], case["head"]
    return x.reshape(shape).transpose(2, 3).flatten(0, 3)


def keys_at(case, inputs, program):
    """Where each key of a program's group lies among the rows of k and v."""
    first = program % (case["batch"] * case["heads_kv"]) * case["seqlen_k"]
    return range(first, first + case["seqlen_k"])


def tile(case, program):
    """The first packed row of a program's tile, the number of its rows that exist, and its height."""
    number, place = divmod(program, case["batch"] * case["heads_kv"])
    packed = case["seqlen_q"] * (case["heads_q"] // case["heads_kv"])
    start = number * case["block_m"]
    return place * packed + start, max(0, min(case["block_m"], packed - start)), case["block_m"]


def chunks(case):
    """The first and last key of each chunk, in the order of the keys."""
    starts = range(0, case["seqlen_k"], case["block_n"])
    return [(first, min(first + case["block_n"], case["seqlen_k"]) - 1) for first in starts]


def _scores_and_values(case, inputs, program):
    """s (rows, seqlen_k) of a program's packed rows, -inf for hidden keys, and v (seqlen_k, head)."""
    first, rows, _ = tile(case, program)
    place = program % (case["batch"] * case["heads_kv"])
    group = case["heads_q"] // case["heads_kv"]
    k, v = (inputs[name].flatten(0, 1)[place] for name in "kv")
    s = case["scale"] * (by_row(case, inputs["q"])[first : first + rows] @ k.T)
    query = torch.arange(first, first + rows)[:, None] % (case["seqlen_q"] * group) // group
    if case["causal"]:
        keys = torch.arange(k.shape[0])[None, :]
        s = s.masked_fill(keys > query + k.shape[0] - case["seqlen_q"], float("-inf"))
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
