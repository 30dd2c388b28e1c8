"""Attention within a window and its log-sum-exp, unfused, in whatever precision the inputs have."""

import torch


def make_inputs(case, generator):
    """q (seqlen_q, head), k and v (seqlen_k, head), float32.

    ``spread`` scales the scores, ``shift`` moves all of them by that much.  ``rising`` makes keys grow along the
    sequence.  ``keys_made``, in probes, is how many keys are made, of which the first seqlen_k are used.  With
    ``one_hot``, v has a 1 in the columns of its chunk, so that o holds the weights by chunk.
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


def _scores(case, inputs, first, rows):
    """s (rows, seqlen_k) of ``rows`` queries from ``first`` on, -inf outside their windows."""
    s = case["scale"] * (inputs["q"][first : first + rows] @ inputs["k"].T)
    place = torch.arange(first, first + rows)[:, None] + case["seqlen_k"] - case["seqlen_q"]
    key = torch.arange(case["seqlen_k"])[None, :]
    hidden = torch.zeros_like(s, dtype=torch.bool)
    if case["left"] >= 0:
        hidden |= key < place - case["left"]
    if case["right"] >= 0:
        hidden |= key > place + case["right"]
    return s.masked_fill(hidden, float("-inf"))


def oracle(case, inputs):
    """o (seqlen_q, head) = softmax(s) v and lse (seqlen_q,) = log sum exp(s) for s = scale * q k^T within the window.

    Query i stands at key i + seqlen_k - seqlen_q and sees ``left`` keys before and ``right`` keys behind that, all
    there are for -1.  A dead row, one that sees no key, has o = 0 and lse = -inf.  The property is true wherever it is
    looked at.
    """
    s = _scores(case, inputs, 0, case["seqlen_q"])
    p = torch.nan_to_num(torch.softmax(s, 1))  # 0 / 0 in a dead row
    rows = torch.ones(case["seqlen_q"] if case["again"] else 0, dtype=torch.bool)
    return {"o": p @ inputs["v"], "lse": torch.logsumexp(s, 1), "open": rows}


def observe(case, inputs, outputs):
    """o, lse, and whether a window that reaches everywhere does what none does, as far as rounding lets it be."""
    found = {"o": outputs["o"], "lse": outputs["lse"], "open": torch.ones(0, dtype=torch.bool)}
    if case["again"]:
        pairs = [(outputs[name].reshape(case["seqlen_q"], -1), outputs[f"{name}_open"]) for name in ("o", "lse")]
        same = [torch.isclose(x, y.reshape(x.shape), rtol=1e-4, atol=1e-5).all(1) for x, y in pairs]
        found["open"] = same[0] & same[1]
    return found


def limits(case):
    """Proof that a tile streams its band and nothing else: no load takes more than a chunk, and each is read once.

    And, for all cases, that a program writes the rows of one tile alone.
    """
    part = {
        **dict.fromkeys(("largest_share.o", "largest_share.o_open"), case["block_m"] * case["head"]),
        **dict.fromkeys(("largest_share.lse", "largest_share.lse_open"), case["block_m"]),
    }
    if not case["streaming"]:
        return part
    programs = -(-case["seqlen_q"] // case["block_m"])
    band = case["block_m"] + case["left"] + case["right"] + 2 * case["block_n"]  # a chunk may jut out on both sides
    chunk = case["block_n"] * case["head"]
    return {
        "largest_load.k": chunk,
        "largest_load.v": chunk,
        "total_load.k": programs * band * case["head"],
        "total_load.v": programs * band * case["head"],
        **part,
        "largest_dimension": max(case["block_m"], case["block_n"], case["head"]),
    }


# For `grade trace`: the running state is that of the lesson's kernel, whose oracle tells of it; the scores are not.
STATE_OF = "flash_attention"


def _scores_of(case, inputs, program):
    first = program * case["block_m"]
    return _scores(case, inputs, first, max(0, min(case["block_m"], case["seqlen_q"] - first)))


def states(case, inputs, program, taken):
    """The state of a program's rows after each step of a loop; ``taken`` holds the keys that each step takes.

    Of the scores s of the keys seen so far: m (rows,) = max s, l (rows,) = sum exp(s - m) and
    acc (rows, head) = sum exp(s - m) v; before a row sees a key its m = -inf, l = 0 and acc = 0.
    """
    s = _scores_of(case, inputs, program)
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
    """What a function that takes a chunk in gets to see of it, by the name that online_softmax_update gives it."""
    first = chunk * case["block_n"]
    s = _scores_of(case, inputs, program)[:, first : first + case["block_n"]]
    return {"s": torch.nn.functional.pad(s, (0, case["block_n"] - s.shape[1]), value=float("-inf"))}
