"""What wrong kernels for packed sequences store: a torch model of each known mistake, with words for the student."""

import math
from types import SimpleNamespace

import torch

NAN, INF = float("nan"), float("inf")
UNWRITTEN = torch.finfo(torch.float64).min  # what the grader shows for elements that were never written
_LOAD_OUTSIDE = r"loads outside [qkv](?:_turned)?\b"
_STORE_OUTSIDE = r"(?:stores outside|wrote past the end of) (?:o|lse)(?:_turned)?\b"


def _exp(x):
    """In float32, with its underflow."""
    return torch.exp(x).float().double()


class _StoppedError(Exception):
    """The kernel does not come to its end, or writes where it must not; holds a pattern of the message."""


def _read(t, name, row, live):
    """Rows (heads, n, head) of a packed tensor, of which ``row`` are the numbers, 0 where not ``live``.

    What lies behind the tensor stops a kernel on CPU and reads as NaN on a GPU.
    """
    x = t.inputs[name].reshape(-1, t.head)
    live, count = live.expand(row.shape), len(x)
    behind = live & (row >= count)
    if t.device == "cpu" and bool(behind.any()):
        raise _StoppedError(_LOAD_OUTSIDE)
    x = torch.cat([x, x.new_full((1, t.head), NAN)])
    return torch.where(live[..., None], x[row.clamp(0, count)], 0.0)


_STEPS = {
    "lowest": lambda t: -INF,
    "spans": lambda t: (t.cu_q[t.b], t.cu_q[t.b + 1], t.cu_k[t.b], t.cu_k[t.b + 1]),
    "lengths": lambda t: (t.end_q - t.start_q, t.end_k - t.start_k),
    "q_row": lambda t: (t.start_q + t.i) * t.heads + t.h,
    "k_row": lambda t: (t.start_k + t.j) * t.heads + t.h,
    "rows": lambda t: t.i < t.nq,
    "stored": lambda t: t.i < t.nq,
    "keys": lambda t: t.j < t.nk,
    "turns": lambda t: math.ceil(t.nk / t.block_n),
    "place": lambda t: t.i + t.nk - t.nq,
    "mask": lambda t: t.j < t.nk,
    "anchor": lambda t: torch.where(t.m_new == -INF, 0.0, t.m_new),
    "acc": lambda t: t.acc * t.alpha + t.p @ t.v[:, t.at],
    "o": lambda t: t.acc / t.safe,
    "lse": lambda t: torch.where(t.l == 0, -INF, t.m + t.safe.log())[..., 0],
    "lse_to": lambda t: t.h * t.total_q + t.start_q + t.i,
    "skips": lambda t: False,
}


def _launch(case, inputs, **steps):
    """By tile and sequence, all heads at once. Each of ``steps`` replaces one step by a function of t."""

    def step(name):
        return steps.get(name, _STEPS[name])(t)

    seqlens_q = inputs["cu_seqlens_q"].diff().tolist()
    total, heads, head = sum(seqlens_q), case["heads"], case["head"]
    o = torch.full((total * heads, head), UNWRITTEN, dtype=torch.float64)
    lse = torch.full((total * heads,), UNWRITTEN, dtype=torch.float64)
    h = torch.arange(heads)[:, None]
    for tile in range(math.ceil(max(seqlens_q) / case["block_m"])):
        for b in range(len(seqlens_q)):
            t = SimpleNamespace(**case, inputs=inputs, b=b, h=h, tile=tile, total_q=total)
            t.cu_q, t.cu_k = inputs["cu_seqlens_q"].tolist(), inputs["cu_seqlens_k"].tolist()
            t.start_q, t.end_q, t.start_k, t.end_k = step("spans")
            t.nq, t.nk = step("lengths")
            t.i = (
                tile * case["block_m"] + torch.arange(case["block_m"])[None, :]
            )  # (1, block_m), q_row is (heads, block_m)
            empty = tile * case["block_m"] >= t.nq
            if step("skips"):
                continue
            turns = 0 if empty else step("turns")
            t.j = torch.arange(turns * case["block_n"])[None, :]
            t.q_at = step("q_row")
            q = _read(t, "q", t.q_at, step("rows"))
            k_at, keys = step("k_row"), step("keys")
            k, t.v = (_read(t, name, k_at, keys) for name in "kv")
            s = q @ k.mT * case["scale"]
            seen = step("mask")[:, None, :] & torch.ones_like(t.i, dtype=torch.bool)[:, :, None]
            if case["causal"]:
                seen = seen & (t.j[:, None, :] <= step("place")[:, :, None])
            s = torch.where(seen, s, -INF)
            t.m, t.l = (torch.full((heads, case["block_m"], 1), x).double() for x in (step("lowest"), 0.0))
            t.acc = torch.zeros_like(q)
            for turn in range(turns):
                t.at = slice(turn * case["block_n"], (turn + 1) * case["block_n"])
                t.m_new = torch.maximum(t.m, s[:, :, t.at].amax(2, keepdim=True))
                t.anchor = step("anchor")
                t.alpha, t.p = _exp(t.m - t.anchor), _exp(s[:, :, t.at] - t.anchor)
                t.l, t.acc, t.m = t.l * t.alpha + t.p.sum(2, keepdim=True), step("acc"), t.m_new
            t.safe = torch.where(t.l == 0, 1.0, t.l)
            live = step("stored").expand(t.q_at.shape)
            if bool((live & (t.q_at >= len(o))).any()):
                raise _StoppedError(_STORE_OUTSIDE)
            o[t.q_at[live]] = step("o")[live]
            lse[step("lse_to")[live]] = step("lse")[live]
    return {"o": o.reshape(total, heads, head), "lse": lse.reshape(heads, total)}


def _kernel(case, inputs, **steps):
    try:
        found = _launch(case, inputs, **steps)
        if case["turned"]:  # it may be stopped, too
            _launch(case, {name.removesuffix("_turned"): x for name, x in inputs.items() if "turned" in name}, **steps)
    except _StoppedError as stopped:
        return str(stopped)
    return found


# Where a sequence ends


def next_sequence_seen(case, inputs):
    """Queries see keys of the next sequence, as if a chunk that is not full ended with the packed tensor alone.

    What lies in memory behind the last key of a sequence? Look at the length in the masks of k, v and the scores.
    """

    def exists(t):
        return t.start_k + t.j < t.cu_k[-1]

    return _kernel(case, inputs, keys=exists, mask=exists)


def next_sequence_overwritten(case, inputs, full_tiles=False):
    """Rows of the next sequence are written over: a tile that is not full is stored up to the end of the packed tensor.

    Which rows of its last tile does a sequence own? Look at the masks of both stores.
    """
    if case["device"] == "cuda":
        return {}  # which of two programs writes last is not known

    def exists(t):
        return t.start_q + t.i < t.cu_q[-1]

    def skips(t):
        return full_tiles and t.tile * t.block_m >= t.nq

    return _kernel(case, inputs, rows=exists, stored=exists, skips=skips)


def next_sequence_overwritten_by_its_tiles(case, inputs):
    """The same, where a tile without a query of its own is left out."""
    return next_sequence_overwritten(case, inputs, full_tiles=True)


def ghost_columns_unmasked(case, inputs):
    """Ghost keys take part with a score of 0: they take weight from the keys of the sequence.

    Look at the columns behind the sequence's last key, where k reads as 0. What is their score when exp comes?
    """
    return _kernel(case, inputs, mask=lambda t: torch.ones_like(t.j, dtype=torch.bool))


def length_is_the_end(case, inputs):
    """A sequence is taken to be as long as the place at which it ends: that is right for the first one alone.

    The lists hold sums of lengths. How long is the sequence that begins at 21 and ends at 26?
    """
    return _kernel(case, inputs, lengths=lambda t: (t.end_q, t.end_k))


# Where a sequence begins


def keys_of_the_first_sequence(case, inputs):
    """Every sequence sees keys from the start of the packed tensor.

    With which row of k does sequence b begin? Look at what its offsets are counted from.
    """
    return _kernel(case, inputs, k_row=lambda t: t.j * t.heads + t.h)


def keys_placed_by_queries(case, inputs):
    """The keys of a sequence are looked for where its queries are, and as many of them.

    There are two lists. Which of them says where the keys of a sequence begin and end?
    """
    return _kernel(case, inputs, spans=lambda t: (t.cu_q[t.b], t.cu_q[t.b + 1]) * 2)


# The causal mask


def causal_by_packed_row(case, inputs):
    """The causal mask compares places in the packed tensors: right only where both lists are the same.

    Which number has a query within its own sequence, and which one its key?
    """
    return _kernel(case, inputs, place=lambda t: t.start_q + t.i - t.start_k)


def causal_top_left(case, inputs):
    """The causal mask is aligned at the first key of a sequence: right only where it has as many queries as keys.

    The last query of a sequence is aligned with its last key. Which keys does the first of 2 queries see, of 5?
    """
    return _kernel(case, inputs, place=lambda t: t.i)


def causal_by_totals(case, inputs):
    """The causal mask is moved by the difference of all queries and all keys.

    Each sequence is aligned at its own last key. Which lengths belong in the mask?
    """
    return _kernel(case, inputs, place=lambda t: t.i + t.cu_k[-1] - t.cu_q[-1])


def causal_forgotten(case, inputs):
    """Every query sees all keys of its sequence, the future too: CAUSAL makes no difference.

    Look for what depends on CAUSAL.
    """
    return _kernel({**case, "causal": False}, inputs)


# Heads


def heads_one_after_the_other(case, inputs):
    """The packed tensors are read and written as if they were (HEADS, total, HEAD).

    The shape is (total, HEADS, HEAD): the heads of a token lie side by side. How far is it to the next token?
    """
    totals = {name: inputs[f"cu_seqlens_{name}"].tolist()[-1] for name in "qk"}
    return _kernel(
        case,
        inputs,
        q_row=lambda t: t.h * totals["q"] + t.start_q + t.i,
        k_row=lambda t: t.h * totals["k"] + t.start_k + t.j,
    )


def keys_of_the_first_head(case, inputs):
    """Every head takes the keys and values of the first one.

    Which of the offsets of k and v depend on the head?
    """
    return _kernel(case, inputs, k_row=lambda t: ((t.start_k + t.j) * t.heads).expand(t.heads, -1))


def lse_by_row(case, inputs):
    """lse is stored as if it were (total_q, HEADS); o is right.

    lse is (HEADS, total_q). How far is it from one head to the next?
    """
    return _kernel(case, inputs, lse_to=lambda t: (t.start_q + t.i) * t.heads + t.h)


# Sequences in which there is nothing


def no_keys_not_written(case, inputs):
    """The queries of a sequence without keys are never written.

    Their output is 0 and their lse is -inf, and somebody has to say so. Does the kernel come to its stores there?
    """
    return _kernel(case, inputs, skips=lambda t: t.nk == 0)


def dead_row_divided_by_zero(case, inputs):
    """A query that sees no key is divided by a sum of 0: its output is NaN instead of 0.

    What is l_i of a row that has seen no key, as in a sequence without keys? Look at the last division.
    """
    return _kernel(case, inputs, o=lambda t: t.acc / t.l)


# The running softmax


def guard_missing(case, inputs):
    """A row that has seen no key yet has maximum -inf, and -inf minus -inf makes it NaN for good.

    With more queries than keys, the first ones see nothing. Look at both exponents for a row whose scores are all -inf.
    """
    return _kernel(case, inputs, anchor=lambda t: t.m_new)


def acc_not_rescaled(case, inputs):
    """acc keeps its old measure when a later chunk raises the maximum; l_i is right.

    Look at what happens to acc when m_new is larger than m_i, and compare it with l_i.
    """
    return _kernel(case, inputs, acc=lambda t: t.acc + t.p @ t.v[:, t.at])


def maximum_starts_at_zero(case, inputs, **steps):
    """A row's maximum is 0, or another number above all of its scores: where these lie far below, their weights vanish.

    What is exp(-200) in float32? Look at what the running maximum starts with, and at what hidden scores are set to.
    """
    return _kernel(case, inputs, lowest=lambda t: 0.0, **steps)


def maximum_starts_at_zero_in_lse_too(case, inputs):
    """The same mistake in a kernel that does not know dead rows by their sum."""
    return maximum_starts_at_zero(case, inputs, lse=lambda t: (t.m + t.safe.log())[..., 0])


maximum_starts_at_zero_in_lse_too.__doc__ = maximum_starts_at_zero.__doc__


def last_chunk_dropped(case, inputs):
    """The keys of the last chunk of a sequence are never seen where it is not full.

    For 38 keys and a BLOCK_N of 32, how many chunks does the loop take?
    """
    return _kernel(case, inputs, turns=lambda t: t.nk // t.block_n)


MISTAKES = (
    next_sequence_seen,
    next_sequence_overwritten,
    next_sequence_overwritten_by_its_tiles,
    ghost_columns_unmasked,
    length_is_the_end,
    keys_of_the_first_sequence,
    keys_placed_by_queries,
    causal_by_packed_row,
    causal_top_left,
    causal_by_totals,
    causal_forgotten,
    heads_one_after_the_other,
    keys_of_the_first_head,
    lse_by_row,
    no_keys_not_written,
    dead_row_divided_by_zero,
    guard_missing,
    acc_not_rescaled,
    maximum_starts_at_zero,
    maximum_starts_at_zero_in_lse_too,
    last_chunk_dropped,
)

ALIASES = {
    "next_sequence_overwritten_by_its_tiles": "next_sequence_overwritten",
    "maximum_starts_at_zero_in_lse_too": "maximum_starts_at_zero",
}

SIGNS = (
    (
        "does_the_work_of_others",
        "fail",
        r"\bone program stores",
        "A program writes more than its own part, as where one does the work of all and the others do none.\n\n"
        "Which part is its own, and where does its number say so?",
    ),
    (
        "tiles_without_queries_read",
        "fail",
        r"The result is right.* elements of [kv] are loaded in all",
        "More is loaded than the tiles with queries in them need: a tile behind the last query of its sequence reads "
        "keys for nothing, or the same chunks are read again.\n\n"
        "The grid has as many tiles for each sequence as the longest one needs. How many keys does a tile need that "
        "has no query?",
    ),
)
