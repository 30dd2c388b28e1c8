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


# What follows is for `grade trace`: the running state after each chunk, and how it may be kept.

# What the stub calls each part of the state; the harness streams, so that there are no loads to look at.
STATE = {"m": "m_i", "l": "l_i", "acc": "acc"}
STREAMED = ()
SUMS = ("l", "acc")


def chunks(case):
    """The first and last key of each chunk, in the order of the keys."""
    return [(number * case["block_n"], (number + 1) * case["block_n"] - 1) for number in range(case["chunks"])]


def tile(case, program):
    """The first row of a program's tile, the number of its rows, and its height."""
    return program * case["block_m"], case["block_m"], case["block_m"]


def states(case, inputs, program, taken):
    """The state of a program's rows after each step of a loop; ``taken`` holds the keys that each step takes.

    Of the scores s of the keys seen so far: m (rows,) = max s, l (rows,) = sum exp(s - m) and
    acc (rows, head) = sum exp(s - m) v; before any key is seen m = -inf, l = 0 and acc = 0. This is what the state
    stands for (Milakov and Gimelshein 2018, arXiv 1805.02867, section 3), worked out anew for each chunk.
    """
    first, rows, _ = tile(case, program)
    s = inputs["s"][first : first + rows]
    seen = torch.zeros(s.shape[1], dtype=torch.bool)
    found = []
    for keys in taken:
        seen[list(keys)] = True
        visible = s.masked_fill(~seen, float("-inf"))
        m = visible.amax(1)
        p = torch.exp(visible - torch.where(torch.isinf(m), 0.0, m)[:, None])
        found.append({"m": m, "l": p.sum(1), "acc": p @ inputs["v"]})
    return found


def readings(state):
    """The state as it is: its units are part of what is asked."""
    yield "", state


def kept(state):
    """The expected state in the one way in which it is kept."""
    yield state


def invariants(state):
    """What every right way to keep the state agrees on; a row that has seen no key has -inf and 0."""
    lse = state["m"] + torch.log(state["l"])
    empty = torch.isneginf(lse)[:, None]
    o = torch.where(empty, 0.0 * state["acc"], state["acc"] / torch.where(empty, 1.0, state["l"][:, None]))
    return {"m + log(l)": lse, "acc / l": o}
