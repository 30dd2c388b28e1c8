"""What wrong kernels for grouped queries store: a torch model of each known mistake, with words for the student.

A model counts rows of q, k, v and o as the kernel does, programs in the order of the interpreter. What lies behind the
end of a tensor stops a kernel on CPU; on a GPU it reads as NaN there.
"""

import functools
import inspect
import math
from types import SimpleNamespace

import torch

NAN, INF = float("nan"), float("inf")
UNWRITTEN = torch.finfo(torch.float64).min  # what the grader shows for elements that were never written
UNKNOWN = torch.finfo(torch.float64).max  # what tells the grader that any value may be there
_BAND = 65536  # elements behind the end of a tensor that are known to read as NaN on a GPU
_STORE = r"(?:stores (?:outside o(?:_twin)?\b|far outside)|wrote past the end of o(?:_twin)?\b)"
_LOAD = r"loads (?:outside {}(?:_twin)?\b|far outside)"


def _tf32(x):
    """As tensor cores read a float32 operand of a product in TF32: the lowest 13 bits are left out."""
    return (x.float().contiguous().view(torch.int32) & ~0x1FFF).view(torch.float32).double()


def _exp(x):
    """In float32, with its underflow."""
    return torch.exp(x).float().double()


class _StoppedError(Exception):
    """The kernel does not come to its end; the pattern of the message, or "" where nothing is known of it."""


def _load(case, name, memory, rows, live):
    """Rows of a (rows, head) memory, 0 where they are masked off."""
    behind = live & (rows >= len(memory))
    if bool(behind.any()):
        if case["device"] == "cpu":
            raise _StoppedError(_LOAD.format(name))
        if bool((rows[live].max() + 1) * case["head"] > memory.numel() + _BAND):
            raise _StoppedError
    read = torch.where(live[:, None], memory[rows.clamp(max=len(memory) - 1)], 0.0)
    return torch.where(behind[:, None], NAN, read)


def _differ(one, two):
    """Which rows are further apart than rounding anywhere, or NaN in one alone."""
    return (~torch.isclose(one, two, rtol=1e-6, atol=1e-9, equal_nan=True)).any(1)


def _launch(case, inputs, heads_kv, twin, steps):
    def step(name):
        return steps.get(name, _STEPS[name])(t)

    q, k, v = (inputs[name].reshape(-1, case["head"]) for name in ("q", f"k{twin}", f"v{twin}"))
    t = SimpleNamespace(**{**case, "heads_kv": heads_kv})
    t.true_group = case["heads_q"] // heads_kv
    o = torch.full_like(q.double(), UNWRITTEN)
    clash = torch.zeros(len(o), 1, dtype=torch.bool)
    grid = math.ceil(case["seqlen_q"] * t.true_group / case["block_m"]), case["batch"] * heads_kv
    for x in range(grid[0]):
        for y in range(grid[1]):
            t.tile, t.pair = step("programs")(x, y)
            t.packed = t.tile * case["block_m"] + torch.arange(case["block_m"])
            t.group = step("group")
            t.batch_index, t.head_kv = step("pair")
            t.query, t.member = t.packed // t.group, t.packed % t.group
            t.q_head = step("q_head")
            t.row = step("row")
            live = step("live")
            t.q = _load(case, "q", q, t.row, live)
            m, l = (torch.full((case["block_m"], 1), first).double() for first in (step("lowest"), 0.0))
            acc = torch.zeros(case["block_m"], case["head"]).double()
            for start in range(0, step("end"), case["block_n"]):
                t.key = start + torch.arange(case["block_n"])
                t.column, real = t.key[None, :], t.key < case["seqlen_k"]
                t.k, t.v = (_load(case, n, z, step("first_key") + t.key, real) for n, z in (("k", k), ("v", v)))
                keep = step("real")
                if case["causal"]:
                    keep = keep & (t.column <= step("causal_row")[:, None] + step("offset"))
                s = torch.where(keep, step("scores"), -INF)
                m_new = torch.maximum(m, s.amax(1, keepdim=True))
                anchor = torch.where(m_new == -INF, 0.0, m_new)
                t.alpha, t.p = _exp(m - anchor), _exp(s - anchor)
                l, t.acc = l * t.alpha + t.p.sum(1, keepdim=True), acc
                acc, m = step("rescaled") + step("product"), m_new
            to, done = step("o_row")[step("o_live")], (acc / torch.where(l == 0, 1.0, l))[step("o_live")]
            if bool((to >= len(o)).any()):
                raise _StoppedError(_STORE)
            written = o[to, 0] != UNWRITTEN
            clash[to[written & _differ(o[to], done)]] = True
            o[to] = done
            clash[to[_differ(o[to], done)]] = True  # one store with two values for one row
    if case["device"] == "cuda":  # which of them wins is not known
        o = torch.where(clash, UNKNOWN, o)
    return o.reshape(case["batch"], case["heads_q"], case["seqlen_q"], case["head"])


def _kernel(case, inputs, **steps):
    """Each of ``steps`` replaces one step by a function of the state t."""
    try:
        o = _launch(case, inputs, case["heads_kv"], "", steps)
        if not case["twin"]:
            return {"o": o}
        other = _launch(case, inputs, case["heads_q"], "_twin", steps)
    except _StoppedError as stopped:
        return str(stopped) or {}
    if bool((o == UNKNOWN).any() | (other == UNKNOWN).any()):
        return {"o": o}
    heads, others = (torch.where(x == UNWRITTEN, NAN, x).flatten(0, 1).flatten(1) for x in (o, other))
    return {"o": o, "repeated": (heads - others).abs().amax(1) <= 4e-6 * others.abs().amax(1)}


_STEPS = {
    "lowest": lambda t: -INF,
    "end": lambda t: t.seqlen_k,
    "programs": lambda t: lambda x, y: (x, y),
    "group": lambda t: t.true_group,
    "pair": lambda t: divmod(t.pair, t.heads_kv),
    "q_head": lambda t: t.head_kv * t.group + t.member,
    "row": lambda t: (t.batch_index * t.heads_q + t.q_head) * t.seqlen_q + t.query,
    "live": lambda t: t.query < t.seqlen_q,
    "first_key": lambda t: t.pair * t.seqlen_k,
    "real": lambda t: t.column < t.seqlen_k,
    "causal_row": lambda t: t.query,
    "offset": lambda t: t.seqlen_k - t.seqlen_q,
    "scores": lambda t: t.q @ t.k.T * t.scale,
    "product": lambda t: t.p @ t.v,
    "rescaled": lambda t: t.acc * t.alpha,
    "o_row": lambda t: t.row,
    "o_live": lambda t: t.query < t.seqlen_q,
}


def heads_dealt_out(case, inputs):
    """Query heads are dealt out to key heads in turn, where neighbours belong together.

    With 4 query heads and 2 key heads, which key head do query heads 0 and 1 share?
    """
    return _kernel(case, inputs, q_head=lambda t: t.member * t.heads_kv + t.head_kv)


def causal_by_packed_row(case, inputs):
    """The causal mask goes by the packed row, as if each row were a query of its own: it lets the future through.

    Which query is packed row 5 in a group of three? All heads of one query see the same keys.
    """
    return _kernel(case, inputs, causal_row=lambda t: t.packed)


def causal_offset_of_the_group(case, inputs):
    """The causal mask takes the number of packed rows for the number of queries.

    The last query is aligned with the last key. How many queries are there, and how many packed rows?
    """
    return _kernel(case, inputs, offset=lambda t: t.seqlen_k - t.seqlen_q * t.group)


def first_head_of_the_group(case, inputs):
    """Only the first query head of each group is ever written.

    Which head is packed row 1 of a group of three? Look for what tells rows of one query apart.
    """
    return _kernel(case, inputs, q_head=lambda t: t.head_kv * t.group + 0 * t.member)


def rows_masked_by_queries(case, inputs):
    """Packed rows are taken to end at the number of queries: all that follow are never written.

    There is a packed row for each head of each query. How many of them exist?
    """
    live = {"live": lambda t: t.packed < t.seqlen_q, "o_live": lambda t: t.packed < t.seqlen_q}
    return _kernel(case, inputs, **live)


def group_is_the_number_of_key_heads(case, inputs):
    """The number of key heads is taken for the number of query heads that share one.

    With 6 query heads and 2 key heads, how many query heads are there in a group?
    """

    def exists(t):
        return t.query < t.seqlen_q

    return _kernel(case, inputs, group=lambda t: t.heads_kv, live=exists, o_live=exists)


def batch_by_query_heads(case, inputs):
    """The batch is found with the number of query heads, where program_id(1) counts key heads.

    With 2 batches, 6 query heads and 2 key heads, which batch has program number 2? The docstring says how it counts.
    """
    return _kernel(case, inputs, pair=lambda t: divmod(t.pair, t.heads_q))


def output_by_key_heads(case, inputs):
    """o is stored as if a batch had as many heads as there are of keys: later batches land in earlier ones.

    How many heads does one batch of o have? Compare the offsets of o with those of q.
    """
    return _kernel(case, inputs, o_row=lambda t: (t.batch_index * t.heads_kv + t.q_head) * t.seqlen_q + t.query)


def rows_as_they_lie(case, inputs):
    """The packed rows are read in the order of memory, head by head, and the causal mask counts query by query.

    Which query and which head is packed row 1? Do the offsets of q and the mask say the same?
    """
    return _kernel(
        case, inputs, row=lambda t: (t.batch_index * t.heads_q + t.head_kv * t.group) * t.seqlen_q + t.packed
    )


def keys_of_the_first_group(case, inputs):
    """All groups of a batch read the keys and values of its first key head.

    Which key head does the second program number stand for, and where does it enter into the offsets of k and v?
    """
    return _kernel(case, inputs, first_key=lambda t: t.batch_index * t.heads_kv * t.seqlen_k)


def batch_forgotten(case, inputs):
    """All batches read the keys and values of the first one.

    Compare the offsets of k and v with those of q: how does the batch enter into each?
    """
    return _kernel(case, inputs, first_key=lambda t: t.head_kv * t.seqlen_k)


def program_ids_swapped(case, inputs):
    """The two program numbers have changed places: tiles of rows are counted by the one that counts groups.

    The docstring says what each of them counts. It goes unnoticed while there are as many tiles as groups.
    """
    return _kernel(case, inputs, programs=lambda t: lambda x, y: (y, x))


def ghost_columns_unmasked(case, inputs):
    """Keys that do not exist take part in the softmax with a score of 0: they take weight from the real keys.

    Look at the columns behind the end of the keys, where k reads as 0. What is their score when exp comes?
    """
    return _kernel(case, inputs, real=lambda t: t.column >= 0)


def acc_not_rescaled(case, inputs):
    """acc keeps its old measure when a later chunk raises the maximum.

    Look at what happens to acc when m_new is larger than m_i, and compare it with l_i.
    """
    return _kernel(case, inputs, rescaled=lambda t: t.acc)


def maximum_starts_at_zero(case, inputs):
    """A row's maximum is 0, or another number above all of its scores: where these lie far below, their weights vanish.

    What is exp(-200) in float32? Look at what the running maximum starts with, and at what hidden scores are set to.
    """
    return _kernel(case, inputs, lowest=lambda t: 0.0)


def last_key_not_counted(case, inputs):
    """The walk ends before the last key that the tile sees: where a chunk begins with that key, it is left out.

    If the last visible key is number 32 and BLOCK_N is 32, at which key does the walk end? Is the end of a range in it?
    """

    def end(t):
        return min(int(t.query.max()) + t.seqlen_k - t.seqlen_q, t.seqlen_k) if t.causal else t.seqlen_k

    return _kernel(case, inputs, end=end)


def store_without_mask(case, inputs):
    """Packed rows that do not exist are stored too, where another query or another head lies.

    Compare the mask of the store with that of q.
    """
    return _kernel(case, inputs, o_live=lambda t: t.packed >= 0)


def tf32(case, inputs, scores="scores", weights=True):
    """A tl.dot rounds float32 to TF32, as on newer GPUs it does unless told not to: about three digits are left.

    Look at the arguments of both tl.dot calls.
    """
    steps = {"product": lambda t: _tf32(t.p) @ _tf32(t.v)} if weights else {}
    if scores:
        steps["scores"] = _TF32_SCORES[scores]
    outputs = _kernel(case, inputs, **steps)
    return {"o": outputs["o"]} if outputs else {}  # a weight that is rounded to the other side may set twins apart


_TF32_SCORES = {
    "scores": lambda t: _tf32(t.q) @ _tf32(t.k).T * t.scale,
    "scaled_queries": lambda t: _tf32(t.q * t.scale) @ _tf32(t.k).T,
}


def _variant(model, suffix, *arguments):
    """The same mistake in a kernel written another way."""

    @functools.wraps(model)
    def variant(case, inputs):
        return model(case, inputs, *arguments)

    variant.__name__ = f"{model.__name__}_{suffix}"
    return variant


_TF32 = (
    _variant(tf32, "in_scaled_queries_and_weights", "scaled_queries"),
    _variant(tf32, "in_scores", "scores", False),
    _variant(tf32, "in_scaled_queries", "scaled_queries", False),
    _variant(tf32, "in_weights", ""),
)


MISTAKES = (
    heads_dealt_out,
    causal_by_packed_row,
    causal_offset_of_the_group,
    first_head_of_the_group,
    rows_masked_by_queries,
    group_is_the_number_of_key_heads,
    batch_by_query_heads,
    output_by_key_heads,
    rows_as_they_lie,
    keys_of_the_first_group,
    batch_forgotten,
    program_ids_swapped,
    ghost_columns_unmasked,
    acc_not_rescaled,
    maximum_starts_at_zero,
    last_key_not_counted,
    store_without_mask,
    tf32,
    *_TF32,
)

ALIASES = {variant.__name__: "tf32" for variant in _TF32}

SIGNS = (
    (
        "does_the_work_of_others",
        "fail",
        r"\bone program stores",
        "A program writes more than its own part, as where one does the work of all and the others do none.\n\n"
        "Which part is its own, and where does its number say so?",
    ),
    (
        "one_head_at_a_time",
        "fail",
        r"elements of [kv] are loaded in all",
        "More of k or v is loaded than each program reads with one walk over the keys of its group.\n\n"
        "What walks over them again: each head of the group, or another pass? All rows of the tile need the same chunk "
        "at the same time.",
    ),
    (
        "tf32",
        "fail",
        r"tl\.dot rounds its float32 tiles to TF32",
        inspect.getdoc(tf32),
    ),
)
