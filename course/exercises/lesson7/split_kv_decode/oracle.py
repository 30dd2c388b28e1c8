"""Attention of one query a sequence over its cache, by splits and as a whole, in whatever precision the inputs have."""

import torch

_SAME = 1e-4  # relative to the largest value; rounding is a hundred times smaller


def make_inputs(case, generator):
    """q (batch, head), k and v (batch, capacity, head) float32, seqlens (batch,) int32.

    The first sequence fills its cache, each further one has ``fewer`` keys less, 0 at the least.  ``spread`` scales the
    scores, ``shift`` moves all of them by that much, ``rising`` makes keys grow along the sequence.  Behind a sequence's
    end its cache holds keys and values as large as any, or NaN where ``poisoned``.
    """
    batch, capacity, head = case["batch"], case["capacity"], case["head"]
    q = torch.randn(batch, head, generator=generator) * case["spread"]
    k = torch.randn(batch, capacity, head, generator=generator)
    v = torch.randn(batch, capacity, head, generator=generator)
    if case["rising"]:
        k = k * torch.linspace(0.2, 4.0, capacity)[:, None]
    if case["shift"]:
        q[..., 0], k[..., 0] = case["shift"] / case["scale"], 1.0
    seqlens = (capacity - case["fewer"] * torch.arange(batch)).clamp(min=0).int()
    behind = (torch.arange(capacity) >= seqlens[:, None])[..., None]
    left_over = float("nan") if case["poisoned"] else 3.0
    k, v = (torch.where(behind, left_over * x, x) for x in (k, v))
    return {"q": q, "k": k, "v": v, "seqlens": seqlens}


def oracle(case, inputs):
    """part_o (batch, splits, head), part_lse (batch, splits), o (batch, head), lse (batch,); agree: all true.

    The whole is the average of its parts by the softmax of their log-sum-exps, so that in float32 it is as exact as what
    is made of stored parts can be.  No key at all gives an output of 0 and a log-sum-exp of -inf.
    """
    q, k, v = inputs["q"], inputs["k"], inputs["v"]
    spans = [slice(first, first + case["chunk"]) for first in range(0, case["capacity"], case["chunk"])]
    o, lse = [], []
    for b, length in enumerate(inputs["seqlens"].tolist()):
        keys, values = k[b, :length], v[b, :length]
        parts = [_attention(case, q[b], keys[span], values[span]) for span in spans]
        o.append(torch.stack([part[0] for part in parts]))
        lse.append(torch.stack([part[1] for part in parts]))
    part_o, part_lse = torch.stack(o), torch.stack(lse)
    return {
        "part_o": part_o,
        "part_lse": part_lse,
        "o": (torch.softmax(part_lse, 1).nan_to_num()[..., None] * part_o).sum(1),  # 0 / 0 where there is no key
        "lse": torch.logsumexp(part_lse, 1),
        "agree": torch.ones(_compared(case), dtype=torch.bool),
    }


def _attention(case, q, k, v):
    """o (head,) and lse () of one query over some keys."""
    s = case["scale"] * (k @ q)
    return torch.softmax(s, 0) @ v, torch.logsumexp(s, 0)


def observe(case, inputs, outputs):
    """What the kernels store, and for which sequences other splits give the same o and lse."""
    found = {name: outputs[name] for name in ("part_o", "part_lse", "o", "lse")}
    return found | {"agree": _same(outputs) if _compared(case) else torch.ones(0, dtype=torch.bool)}


def _same(outputs):
    o, o_other, lse, lse_other = (outputs[name].double() for name in ("o", "o_other", "lse", "lse_other"))
    near = (o - o_other).abs().amax(1) <= _SAME * o.abs().max()
    return near & ((lse == lse_other) | ((lse - lse_other).abs() <= _SAME * (1 + lse.abs())))


def limits(case):
    """Proof that each key is read once, for one case: in tiles of at most BLOCK_N, and none of the caches' free room.

    And, for all cases, that a program writes one split, or one sequence.
    """
    sizes = {"part_o": case["head"], "part_lse": 1, "o": case["head"], "lse": 1}
    part = {f"largest_share.{name}{suffix}": size for suffix in ("", "_other") for name, size in sizes.items()}
    if not case["counted"]:
        return part
    lengths = [max(0, case["capacity"] - case["fewer"] * sequence) for sequence in range(case["batch"])]
    tile, all_keys = case["block_n"] * case["head"], sum(lengths) * case["head"]
    return {
        **part,
        "largest_load.k": tile,
        "largest_load.v": tile,
        "total_load.k": all_keys,
        "total_load.v": all_keys,
        "largest_dimension": max(case["block_n"], case["head"], 128),  # the harness copies 128 at once
    }


def _compared(case):
    """How many sequences are compared for agree."""
    return case["batch"] if case["other_chunk"] else 0
