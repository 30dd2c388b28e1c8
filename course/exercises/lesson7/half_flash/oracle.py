"""Attention, unfused, in whatever precision the inputs have, and its log-sum-exp in float32 or better."""

import torch


def make_inputs(case, generator):
    """q (seqlen_q, head), k and v (seqlen_k, head) of ``dtype``; with ``twin``, v_twin holds twice the values.

    ``spread`` scales the scores and ``shift`` moves all of them by that much; ``last`` moves the score of the last key.
    ``size`` is that of q k^T before the scale, where it is not 0, and ``centre`` that of all values. With ``one_hot``, v
    has a 1 in the columns of its chunk, so that o holds the weights by chunk.
    """
    dtype, scale = getattr(torch, case["dtype"]), case["scale"]
    q = torch.randn(case["seqlen_q"], case["head"], generator=generator) * case["spread"]
    k = torch.randn(case["seqlen_k"], case["head"], generator=generator)
    v = torch.randn(case["seqlen_k"], case["head"], generator=generator) + case["centre"]
    if case["shift"] or case["last"]:
        q[:, 0], k[:, 0] = 1.0, case["shift"] / scale
        k[-1, 0] += case["last"] / scale
    if case["size"]:
        q[:, 1], k[:, 1] = case["size"] ** 0.5, case["size"] ** 0.5
    if case.get("one_hot"):
        v = _one_hot(torch.arange(case["seqlen_k"]) // case["block_n"], case["head"])
    v = v.to(dtype)
    inputs = {"q": q.to(dtype), "k": k.to(dtype), "v": v}
    return {**inputs, "v_twin": 2 * v} if case["twin"] else inputs


def _one_hot(chunk, width):
    """1 in each column that is the row's chunk modulo an odd number above that of chunks, so that columns repeat."""
    chunks = int(chunk.max()) + 1
    period = chunks + 1 + chunks % 2
    return (torch.arange(width) % period == chunk[:, None]).float()


def _scores(case, q, k):
    """s (seqlen_q, seqlen_k), -inf where a causal query, aligned at the last key, may not look."""
    s = (case["scale"] * q) @ k.T
    if not case["causal"]:
        return s
    rows, keys = torch.arange(case["seqlen_q"])[:, None], torch.arange(case["seqlen_k"])[None, :]
    return s.masked_fill(keys > rows + case["seqlen_k"] - case["seqlen_q"], float("-inf"))


def oracle(case, inputs):
    """o (seqlen_q, head) = softmax(s) v, as good as torch makes it in 16 bits; lse (seqlen_q,) = log sum exp(s).

    A dead row, one that sees no key, has o = 0 and lse = -inf. ``doubled`` is true wherever it is looked at.
    """
    p = torch.nan_to_num(torch.softmax(_scores(case, inputs["q"], inputs["k"]), 1))  # 0 / 0 in a dead row
    wide = (inputs[name].to(torch.promote_types(inputs[name].dtype, torch.float32)) for name in "qk")
    rows = torch.ones(case["seqlen_q"] if case["twin"] else 0, dtype=torch.bool)
    return {"o": p @ inputs["v"], "lse": torch.logsumexp(_scores(case, *wide), 1), "doubled": rows}


def observe(case, inputs, outputs):
    """o and lse; with a twin, whether each row of o doubled with the values, and lse stayed, to the bit."""
    if not case["twin"]:
        return {**outputs, "doubled": torch.ones(0, dtype=torch.bool)}
    o, lse = outputs["o"], outputs["lse"]
    doubled = (outputs["o_twin"] == 2 * o).all(1) & (outputs["lse_twin"] == lse)
    return {"o": o, "lse": lse, "doubled": doubled}


def limits(case):
    """No tile is larger than its block, keys and values are read at most twice for each query tile, whose rows are all
    that a program writes."""
    whole = 2 * -(-case["seqlen_q"] // case["block_m"]) * case["seqlen_k"] * case["head"] * (2 if case["twin"] else 1)
    return {
        "largest_dimension": max(case["block_m"], case["block_n"], case["head"]),
        "total_load.k": whole,
        "total_load.v": whole,
        **dict.fromkeys(("largest_share.o", "largest_share.o_twin"), case["block_m"] * case["head"]),
        **dict.fromkeys(("largest_share.lse", "largest_share.lse_twin"), case["block_m"]),
    }


# For `grade trace`: the running state is that of the lesson's kernel, whose oracle tells of it, and is kept in float32.
STATE_OF = "flash_attention"


def states(case, inputs, program, taken):
    """The state of a program's rows after each step of a loop; ``taken`` holds the keys that each step takes.

    Of the scores s of the keys seen so far: m (rows,) = max s, l (rows,) = sum exp(s - m) and
    acc (rows, head) = sum exp(s - m) v, with weights that are rounded to the inputs' dtype for acc alone; before a row
    sees a key its m = -inf, l = 0 and acc = 0.
    """
    first, dtype = program * case["block_m"], inputs["v"].dtype
    q, k, v = (inputs[name].to(torch.promote_types(dtype, torch.float32)) for name in "qkv")
    s = _scores(case, q, k)[first : first + case["block_m"]]
    seen = torch.zeros(case["seqlen_k"], dtype=torch.bool)
    found = []
    for keys in taken:
        seen[list(keys)] = True
        visible = s.masked_fill(~seen, float("-inf"))
        m = visible.amax(1)
        p = torch.exp(visible - torch.where(torch.isinf(m), 0.0, m)[:, None])
        found.append({"m": m, "l": p.sum(1), "acc": p.to(dtype).to(v.dtype) @ v})
    return found
