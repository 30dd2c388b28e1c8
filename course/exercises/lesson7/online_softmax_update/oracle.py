"""What the running state must amount to after the last chunk: the softmax average of v, and the log-sum-exp."""

import torch


def make_inputs(case, generator):
    """s (rows, chunks * block_n) float32, masked with -inf; v (chunks * block_n, head) float32.

    The scores of the first chunk are spread around ``centre``; ``drift`` is what this mean changes by per chunk.  ``hidden_chunks`` leading chunks are masked
    throughout for all rows but every fourth, and so are ``hidden_last_chunks`` trailing ones.  ``dead_rows`` rows at the
    end see no key at all.  ``chunks_made``, in probes, is how many chunks are made, of which the first ``chunks`` are used.
    """
    rows, block_n, chunks = case["rows"], case["block_n"], case.get("chunks_made", case["chunks"])
    keys = chunks * block_n
    chunk = torch.arange(keys) // block_n
    s = torch.randn(rows, keys, generator=generator) * case["spread"] + case["centre"] + case["drift"] * chunk
    row = torch.arange(rows)[:, None]
    hidden = (chunk[None, :] < case["hidden_chunks"]) & (row % 4 != 3)
    hidden = hidden | ((chunk[None, :] >= chunks - case["hidden_last_chunks"]) & (row % 4 != 3))
    hidden = hidden | (row >= rows - case["dead_rows"])
    s = s.masked_fill(hidden, float("-inf"))
    v = torch.randn(keys, case["head"], generator=generator)
    used = case["chunks"] * block_n
    return {"s": s[:, :used].contiguous(), "v": v[:used]}


def oracle(case, inputs):
    """o (rows, head) = softmax(s) v, 0 for rows that see nothing; lse (rows,) = log sum exp(s)."""
    s = inputs["s"]
    lse = torch.logsumexp(s, 1)
    dead = torch.isinf(lse)
    p = torch.exp(s - torch.where(dead, 0.0, lse)[:, None])
    return {"o": p @ inputs["v"], "lse": lse}


def observe(case, inputs, outputs):
    """acc / l where l is not 0, and m + log l: what any right way to keep the state agrees on."""
    m, l, acc = (outputs[name].double() for name in ("m", "l", "acc"))
    empty = (l == 0)[:, None]
    o = torch.where(empty, 0.0, acc / torch.where(empty, 1.0, l[:, None]))
    return {"o": o, "lse": m + torch.log(l)}
