"""The gradients of attention by torch's autograd, in whatever precision the inputs have."""

import torch


def make_inputs(case, generator):
    """q and do (seqlen_q, head), k and v (seqlen_k, head), and what the forward pass saves: o and lse; all float32.

    ``spread`` scales the scores, ``shift`` moves all of them by that much.  With ``doubled`` there is do_doubled
    as well, twice do.
    """
    q = torch.randn(case["seqlen_q"], case["head"], generator=generator) * case["spread"]
    k = torch.randn(case["seqlen_k"], case["head"], generator=generator)
    v = torch.randn(case["seqlen_k"], case["head"], generator=generator)
    do = torch.randn(case["seqlen_q"], case["head"], generator=generator)
    if case["shift"]:
        q[:, 0], k[:, 0] = case["shift"] / case["scale"], 1.0
    o, lse = forward(case, q.double(), k.double(), v.double())
    found = {"q": q, "k": k, "v": v, "o": o.float(), "lse": lse.float(), "do": do}
    return {**found, "do_doubled": 2 * do} if case["doubled"] else found


def forward(case, q, k, v):
    """o (seqlen_q, head) = p v and lse (seqlen_q,) for s = scale * q k^T and p = exp(s - lse).

    This is the softmax, by way of its log-sum-exp: in float32 it is as exact as what is made of a saved one can be.  A
    dead row has o = 0 and lse = -inf.
    """
    s = case["scale"] * (q @ k.T)
    hidden = torch.zeros_like(s, dtype=torch.bool)
    if case["causal"]:
        hidden = torch.ones_like(hidden).triu(1 + case["seqlen_k"] - case["seqlen_q"])
    dead = hidden.all(1, keepdim=True)
    s = s.masked_fill(hidden & ~dead, float("-inf"))
    lse = torch.logsumexp(s, 1, keepdim=True)
    p = torch.exp(s - lse).masked_fill(dead, 0.0)
    return p @ v, lse.masked_fill(dead, float("-inf"))[:, 0]


def oracle(case, inputs):
    """delta (seqlen_q,), dq (seqlen_q, head), dk and dv (seqlen_k, head) for the loss sum(o * do); linear: all true."""
    with torch.enable_grad():
        q, k, v = (inputs[name].detach().clone().requires_grad_() for name in "qkv")
        o, _ = forward(case, q, k, v)
        dq, dk, dv = torch.autograd.grad(o, (q, k, v), inputs["do"])
    delta = (inputs["o"] * inputs["do"]).sum(1)
    linear = torch.ones(3 if case["doubled"] else 0, dtype=torch.bool)
    return {"delta": delta, "dq": dq, "dk": dk, "dv": dv, "linear": linear}


def observe(case, inputs, outputs):
    """delta and the gradients, and which of the three are twice as large for twice the incoming gradient."""
    linear = torch.ones(0, dtype=torch.bool)
    if case["doubled"]:
        pairs = [(outputs[name].double(), outputs[f"{name}_doubled"].double()) for name in ("dq", "dk", "dv")]
        linear = torch.stack([(2 * one - two).abs().max() <= 1e-5 * two.abs().max() for one, two in pairs])
    return {name: outputs[name] for name in ("delta", "dq", "dk", "dv")} | {"linear": linear}


def limits(case):
    """Proof of streaming, for long cases: no tile is larger than its blocks, and no walk reads anything twice.

    What belongs to a program's own tile is read once, what it walks over once a program.  And, for all cases, a
    program writes one tile.
    """
    rows = {"delta": case["block_m"], "dq": case["block_m"] * case["head"]}
    rows |= dict.fromkeys(("dk", "dv"), case["block_n"] * case["head"])
    part = {f"largest_share.{name}{suffix}": size for suffix in ("", "_doubled") for name, size in rows.items()}
    if not case["counted"]:
        return part
    query_tiles, key_tiles = (-(-case[f"seqlen_{x}"] // case[f"block_{y}"]) for x, y in (("q", "m"), ("k", "n")))
    queries, keys = (case[name] * case["head"] for name in ("seqlen_q", "seqlen_k"))
    return {
        **part,
        **{f"largest_load.{name}": case["block_m"] * case["head"] for name in ("q", "do")},
        **{f"largest_load.{name}": case["block_n"] * case["head"] for name in ("k", "v")},
        "total_load.q": (1 + key_tiles) * queries,
        "total_load.do": (2 + key_tiles) * queries,  # delta takes it as well
        **{f"total_load.{name}": (1 + query_tiles) * keys for name in ("k", "v")},
        "largest_dimension": max(case["block_m"], case["block_n"], case["head"]),
    }
