"""Attention of each packed sequence by itself, unfused, in whatever precision the inputs have."""

import torch


def lengths(text):
    return [int(length) for length in text.split()]


def make_inputs(case, generator):
    """q (total_q, heads, head), k and v (total_k, heads, head), float32; cu_seqlens_q, cu_seqlens_k (batch + 1,) int32.

    ``seqlens_q`` and ``seqlens_k`` are the lengths.  ``spread`` scales the scores, ``shift`` moves all of them by that
    much.  ``rising`` makes keys grow along all of the packed tensor, so that the keys of the next sequence would take
    most weight.  With ``turned`` the same sequences are there once more, packed in the opposite order.
    """
    seqlens = {"q": lengths(case["seqlens_q"]), "k": lengths(case["seqlens_k"])}
    shape = (case["heads"], case["head"])
    q = torch.randn(sum(seqlens["q"]), *shape, generator=generator) * case["spread"]
    k, v = (torch.randn(sum(seqlens["k"]), *shape, generator=generator) for _ in range(2))
    if case["rising"]:
        k = k * torch.linspace(0.2, 3.0, len(k))[:, None, None]
    if case["shift"]:
        q[..., 0], k[..., 0] = case["shift"] / case["scale"], 1.0
    inputs = {"q": q, "k": k, "v": v}
    inputs |= {f"cu_seqlens_{name}": _starts(ls) for name, ls in seqlens.items()}
    if case["turned"]:
        inputs |= {f"{name}_turned": _turned(inputs[name], seqlens["q" if name == "q" else "k"]) for name in "qkv"}
        inputs |= {f"cu_seqlens_{name}_turned": _starts(ls[::-1]) for name, ls in seqlens.items()}
    return inputs


def _starts(seqlens):
    return torch.tensor([sum(seqlens[:n]) for n in range(len(seqlens) + 1)], dtype=torch.int32)


def _turned(x, seqlens):
    """The sequences of x, which lie along its first axis, in the opposite order."""
    return torch.cat(x.split(seqlens)[::-1])


def oracle(case, inputs):
    """o (total_q, heads, head) = softmax(s) v and lse (heads, total_q) = log sum exp(s) for s = scale * q k^T, each
    sequence by itself.

    Causal is aligned at a sequence's last key; a dead row, one that sees no key, has o = 0 and lse = -inf.  The
    property is true wherever it is looked at.
    """
    seqlens_q, seqlens_k = lengths(case["seqlens_q"]), lengths(case["seqlens_k"])
    q, k, v = (inputs[name].transpose(0, 1) for name in "qkv")  # (heads, total, head)
    o, lse = [], []
    for mine, keys, values in zip(q.split(seqlens_q, 1), k.split(seqlens_k, 1), v.split(seqlens_k, 1), strict=True):
        s = case["scale"] * (mine @ keys.mT)
        if case["causal"]:
            future = torch.ones_like(s, dtype=torch.bool).triu(1 + keys.shape[1] - mine.shape[1])
            s = s.masked_fill(future, float("-inf"))
        o.append(torch.nan_to_num(torch.softmax(s, 2)) @ values)  # 0 / 0 in a dead row
        lse.append(torch.logsumexp(s, 2))
    rows = torch.ones(sum(seqlens_q) if case["turned"] else 0, dtype=torch.bool)
    return {"o": torch.cat(o, 1).transpose(0, 1), "lse": torch.cat(lse, 1), "order": rows}


def observe(case, inputs, outputs):
    """o, lse, and whether the order of the sequences makes no difference, by packed row, up to rounding."""
    found = {"o": outputs["o"], "lse": outputs["lse"], "order": torch.ones(0, dtype=torch.bool)}
    if case["turned"]:
        back = lengths(case["seqlens_q"])[::-1]
        o, lse = _turned(outputs["o_turned"], back), _turned(outputs["lse_turned"].T, back)
        same = torch.isclose(outputs["o"], o, rtol=1e-4, atol=1e-5).all(2).all(1)
        found["order"] = same & torch.isclose(outputs["lse"].T, lse, rtol=1e-4, atol=1e-5).all(1)
    return found


def limits(case):
    """Proof of streaming, and that tiles behind the end of a sequence read nothing.

    Each tile that has a query reads each key once, and no load takes more than a chunk.  A
    program writes the rows of one tile.
    """
    part = {
        **dict.fromkeys(("largest_share.o", "largest_share.o_turned"), case["block_m"] * case["head"]),
        **dict.fromkeys(("largest_share.lse", "largest_share.lse_turned"), case["block_m"]),
    }
    if not case["streaming"]:
        return part
    lengths_of = zip(lengths(case["seqlens_q"]), lengths(case["seqlens_k"]), strict=True)
    keys = sum(-(-seqlen_q // case["block_m"]) * seqlen_k for seqlen_q, seqlen_k in lengths_of)
    elements = keys * case["heads"] * case["head"]
    chunk = case["block_n"] * case["head"]
    return {
        "largest_load.k": chunk,
        "largest_load.v": chunk,
        "total_load.k": elements,
        "total_load.v": elements,
        **part,
        "largest_dimension": max(case["block_m"], case["block_n"], case["head"]),
    }


# For `grade trace`: the running state is that of the lesson's kernel, whose oracle tells of it. Rows are packed ones,
# counted through all heads, one head's after another's. Each sequence is taken to have as many keys as the longest:
# those that it lacks are hidden.
STATE_OF = "flash_attention"


def by_row(case, x):
    """An output as rows, in the order in which `tile` counts them; lse has its heads outermost already."""
    return x.transpose(0, 1).flatten(0, 1) if x.ndim == 3 else x.flatten()


def _place(case, program):
    """The number of a program's query tile within its sequence, the sequence, and the head."""
    number, head = divmod(program, case["heads"])
    return *divmod(number, len(lengths(case["seqlens_q"]))), head


def keys_at(case, inputs, program):
    """Where each key of a program's sequence and head lies among the rows of k and v."""
    _, sequence, head = _place(case, program)
    first = sum(lengths(case["seqlens_k"])[:sequence])
    seqlens_k = lengths(case["seqlens_k"])
    places = [(first + key) * case["heads"] + head for key in range(seqlens_k[sequence])]
    return places + [-1] * (max(seqlens_k) - len(places))


def tile(case, program):
    """The first row of a program's query tile, the number of its rows that exist, and its height."""
    number, sequence, head = _place(case, program)
    seqlens, start = lengths(case["seqlens_q"]), number * case["block_m"]
    rows = max(0, min(case["block_m"], seqlens[sequence] - start))
    return head * sum(seqlens) + sum(seqlens[:sequence]) + start, rows, case["block_m"]


def chunks(case):
    """The first and last key of each chunk, in the order of the keys, counted from the start of a sequence."""
    seqlen_k = max(lengths(case["seqlens_k"]))
    starts = range(0, seqlen_k, case["block_n"])
    return [(first, min(first + case["block_n"], seqlen_k) - 1) for first in starts]


def _scores_and_values(case, inputs, program):
    """s (rows, seqlen_k) of a program's rows, -inf for keys that a row may not see, and v; both of the longest sequence's length."""
    first, rows, _ = tile(case, program)
    number, sequence, head = _place(case, program)
    k, v = (inputs[name].split(lengths(case["seqlens_k"]))[sequence][:, head] for name in "kv")
    s = case["scale"] * (by_row(case, inputs["q"])[first : first + rows] @ k.T)
    query = number * case["block_m"] + torch.arange(rows)[:, None]
    if case["causal"]:
        keys = torch.arange(k.shape[0])[None, :]
        s = s.masked_fill(keys > query + k.shape[0] - lengths(case["seqlens_q"])[sequence], float("-inf"))
    lacking = max(lengths(case["seqlens_k"])) - k.shape[0]
    pad = torch.nn.functional.pad
    return pad(s, (0, lacking), value=float("-inf")), pad(v, (0, 0, 0, lacking))


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
