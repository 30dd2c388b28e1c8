"""Attention and its log-sum-exp, unfused, in whatever precision the inputs have."""

import torch


def make_inputs(case, generator):
    """q (seqlen_q, head), k and v (seqlen_k, head), float32.

    ``spread`` scales the scores, ``shift`` moves all of them by that much.  ``rising`` makes keys grow along the sequence, so that the running maximum keeps
    moving from chunk to chunk.  ``keys_made``, in probes, is how many keys are made, of which the first seqlen_k are
    used.  With ``one_hot``, v has a 1 in the columns of its chunk, so that o holds the weights by chunk.
    """
    keys = case.get("keys_made", case["seqlen_k"])
    q = torch.randn(case["seqlen_q"], case["head"], generator=generator) * case["spread"]
    k = torch.randn(keys, case["head"], generator=generator)
    if case["rising"]:
        k = k * torch.linspace(0.2, 4.0, keys)[:, None]
    if case["shift"]:
        q[:, 0], k[:, 0] = case["shift"] / case["scale"], 1.0
    v = torch.randn(keys, case["head"], generator=generator)
    if case.get("one_hot"):
        v = _one_hot(torch.arange(keys) // case["block_n"], case["head"])
    return {"q": q, "k": k[: case["seqlen_k"]], "v": v[: case["seqlen_k"]]}


def _one_hot(chunk, width):
    """1 in each column that is the row's chunk modulo an odd number above that of chunks, so that columns repeat."""
    chunks = int(chunk.max()) + 1
    period = chunks + 1 + chunks % 2
    return (torch.arange(width) % period == chunk[:, None]).float()


def oracle(case, inputs):
    """o (seqlen_q, head) = softmax(s) v and lse (seqlen_q,) = log sum exp(s) for s = scale * q k^T.

    Causal is aligned at the last key; a dead row, one that sees no key, has o = 0 and lse = -inf.
    """
    s = case["scale"] * (inputs["q"] @ inputs["k"].T)
    if case["causal"]:
        future = torch.ones_like(s, dtype=torch.bool).triu(1 + case["seqlen_k"] - case["seqlen_q"])
        s = s.masked_fill(future, float("-inf"))
    lse = torch.logsumexp(s, 1)
    p = torch.nan_to_num(torch.softmax(s, 1))  # 0 / 0 in a dead row
    return {"o": p @ inputs["v"], "lse": lse}


def limits(case):
    """A program's part of o and lse is one query tile. Proof of streaming, for the long case: no load takes more than a
    chunk of keys, none is read over twice."""
    part = {"largest_share.o": case["block_m"] * case["head"], "largest_share.lse": case["block_m"]}
    if not case["streaming"]:
        return part
    programs = -(-case["seqlen_q"] // case["block_m"])
    sequence = programs * case["seqlen_k"] * case["head"]
    chunk = case["block_n"] * case["head"]
    return {
        **part,
        "largest_load.k": chunk,
        "largest_load.v": chunk,
        "total_load.k": 2 * sequence,
        "total_load.v": 2 * sequence,
        "largest_dimension": max(case["block_m"], case["block_n"], case["head"]),
    }


# What follows is for `grade trace`: the running state that a streaming kernel keeps, and how it may be kept.

# What the stub calls each part of the state, and the inputs whose rows are the streamed keys.
STATE = {"m": "m_i", "l": "l_i", "acc": "acc"}
STREAMED = ("k", "v")
# The parts to which each chunk adds, and what each output is made of after the last one.
SUMS = ("l", "acc")
ENDS = {"o": "acc / l", "lse": "m + log(l)"}


def chunks(case):
    """The first and last key of each chunk, in the order of the keys."""
    starts = range(0, case["seqlen_k"], case["block_n"])
    return [(first, min(first + case["block_n"], case["seqlen_k"]) - 1) for first in starts]


def tile(case, program):
    """The first row of a program's query tile, the number of its rows that exist, and its height."""
    first = program * case["block_m"]
    return first, max(0, min(case["block_m"], case["seqlen_q"] - first)), case["block_m"]


def _scores(case, inputs, program):
    """s (rows, seqlen_k) of a program's rows, -inf for keys that a row may not see; causal where there is no switch."""
    first, rows, _ = tile(case, program)
    s = case["scale"] * (inputs["q"][first : first + rows] @ inputs["k"].T)
    if case.get("causal", True):
        reach = torch.arange(first, first + rows)[:, None] + case["seqlen_k"] - case["seqlen_q"]
        s = s.masked_fill(torch.arange(case["seqlen_k"])[None, :] > reach, float("-inf"))
    return s


def states(case, inputs, program, taken):
    """The state of a program's rows after each step of a loop; ``taken`` holds the keys that each step takes.

    Of the scores s of the keys seen so far: m (rows,) = max s, l (rows,) = sum exp(s - m) and
    acc (rows, head) = sum exp(s - m) v; before any key is seen m = -inf, l = 0 and acc = 0. This is what the state
    stands for (Milakov and Gimelshein 2018, arXiv 1805.02867, section 3), worked out anew for each chunk.
    """
    s = _scores(case, inputs, program)
    seen = torch.zeros(case["seqlen_k"], dtype=torch.bool)
    found = []
    for keys in taken:
        seen[list(keys)] = True
        visible = s.masked_fill(~seen, float("-inf"))
        m = visible.amax(1)
        p = torch.exp(visible - torch.where(torch.isinf(m), 0.0, m)[:, None])
        found.append({"m": m, "l": p.sum(1), "acc": p @ inputs["v"]})
    return found


def given(case, inputs, program, chunk):
    """What online_softmax_update gets to see of a chunk, by the names of its parameters."""
    first, last = chunks(case)[chunk]
    ghosts = case["block_n"] - (last - first + 1)
    s = _scores(case, inputs, program)[:, first : last + 1]
    return {"s": torch.nn.functional.pad(s, (0, ghosts), value=float("-inf"))}


def readings(state):
    """The state as it is, and as a kernel may keep it instead: in words, with what it then stands for."""
    yield "", state
    yield "m is kept in powers of two", {**state, "m": state["m"] * 0.6931471805599453}
    yield "acc is kept divided by l", {**state, "acc": state["acc"] * state["l"][:, None]}
    yield "m is kept as the log-sum-exp, and acc divided by l", {**state, "l": torch.ones_like(state["m"])}


def kept(state):
    """The expected state as it looks when it is kept in each of these ways, in their order."""
    yield state
    yield {**state, "m": state["m"] / 0.6931471805599453}
    divided = state["acc"] / torch.where(state["l"] == 0, 1.0, state["l"])[:, None]
    yield {**state, "acc": divided}
    yield {"m": state["m"] + torch.log(state["l"]), "l": torch.ones_like(state["l"]), "acc": divided}


def rescaled(state, m):
    """The state as it is if it is kept against another ``m``, where both are numbers."""
    factor = torch.exp(torch.where(torch.isfinite(m) & torch.isfinite(state["m"]), state["m"] - m, 0.0))
    return {"m": m, "l": state["l"] * factor, "acc": state["acc"] * factor[:, None]}


def grown(before, s):
    """What a tile of scores (rows, keys) makes of each part for which that is known without knowing the others."""
    return {"m": torch.maximum(before["m"], s.amax(1))}


def invariants(state):
    """What every right way to keep the state agrees on; a row that has seen no key has -inf and 0."""
    lse = state["m"] + torch.log(state["l"])
    lse = torch.where(lse < -1e4, float("-inf"), lse)  # no key seen yet, with a finite number in the place of -inf
    empty = torch.isneginf(lse)[:, None]
    o = torch.where(empty, 0.0 * state["acc"], state["acc"] / torch.where(empty, 1.0, state["l"][:, None]))
    return {"m + log(l)": lse, "acc / l": o}
