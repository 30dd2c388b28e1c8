"""What wrong kernels for a batch of heads store: a torch model of each known mistake, with words for the student.

A model walks over memory as the kernel does: programs in the order of the interpreter, addresses by strides. What lies
behind the end of a tensor stops a kernel on CPU; on a GPU it reads as NaN there.
"""

import functools
import inspect
import math
from types import SimpleNamespace

import torch

NAN, INF = float("nan"), float("inf")
UNWRITTEN = torch.finfo(torch.float64).min  # what the grader shows for elements that were never written
_BAND = 65536  # elements behind the end of a tensor that are known to read as NaN on a GPU
_BETWEEN = r"wrote between the elements of o(?:_twin)?\b"
_PAST_THE_END = r"(?:stores outside|wrote past the end of) o(?:_twin)?\b"
_LOAD = r"loads (?:outside {}(?:_twin)?\b|far outside)"


def _tf32(x):
    """As tensor cores read a float32 operand of a product in TF32: the lowest 13 bits are left out."""
    return (x.float().contiguous().view(torch.int32) & ~0x1FFF).view(torch.float32).double()


def _exp(x):
    """In float32, with its underflow."""
    return torch.exp(x).float().double()


class _StoppedError(Exception):
    """The kernel does not come to its end; the pattern of the message, or "" where nothing is known of it."""


def _strides(case, name, layout):
    """(b, h, n, d) as the text in the case lays them out; see launch.py."""
    axes, *more = layout.split()
    step = next((int(word[1:]) for word in more if word[0] == "*"), 1)
    gap = next((int(word[1:]) for word in more if word[0] == "+"), 0)
    sizes = dict(zip("bhnd", _sizes(case, name), strict=True))
    strides = {}
    for axis in reversed(axes):
        strides[axis] = step
        step, gap = step * sizes[axis] + gap, 0
    return tuple(strides[axis] for axis in "bhnd")


def _sizes(case, name):
    return case["batch"], case["heads"], case["seqlen_q" if name in "qo" else "seqlen_k"], case["head"]


def _contiguous(case, name):
    _, heads, rows, head = _sizes(case, name)
    return heads * rows * head, rows * head, head, 1


def _differ(one, two):
    """Whether any numbers are further apart than rounding, or are NaN in one alone."""
    return bool((~torch.isclose(one, two, rtol=1e-6, atol=1e-9, equal_nan=True)).any())


class _Memory:
    """One tensor's memory, and the strides that the kernel walks it by."""

    def __init__(self, case, name, layout, values=None, walked=None):
        self.case, self.name = case, name
        self.true = _strides(case, name, layout)
        self.walked = walked or self.true
        sizes = _sizes(case, name)
        span = 1 + sum((n - 1) * s for n, s in zip(sizes, self.true, strict=True))
        self.flat = torch.full((span,), NAN, dtype=torch.float64)
        self.tensor = self.flat.as_strided(sizes, self.true)
        self.tensor.copy_(torch.full(sizes, UNWRITTEN, dtype=torch.float64) if values is None else values)
        self.touched = torch.zeros(span, dtype=torch.bool)
        self.clash = False

    def places(self, b, h, rows, columns):
        sb, sh, sn, sd = self.walked
        return b * sb + h * sh + rows[:, None] * sn + columns[None, :] * sd

    def load(self, places, live, other=0.0):
        behind = live & (places >= len(self.flat))
        if bool(behind.any()):
            if self.case["device"] == "cpu":
                raise _StoppedError(_LOAD.format(self.name))
            if bool((live & (places >= len(self.flat) + _BAND)).any()):
                raise _StoppedError
        read = torch.where(live, self.flat[places.clamp(max=len(self.flat) - 1)], other)
        return torch.where(behind, NAN, read)

    def store(self, places, live, values):
        to, values = places[live], values[live]
        if bool((to >= len(self.flat)).any()):
            raise _StoppedError(_PAST_THE_END)
        old = self.flat[to]
        self.clash = self.clash or bool(((old != UNWRITTEN) & ~torch.isnan(old) & (old != values)).any())
        self.flat[to] = values
        self.clash = self.clash or _differ(self.flat[to], values)  # one store with two values for one place
        self.touched[to] = True

    def stored(self):
        """The tensor; stops where anything was stored between its elements."""
        self.touched.as_strided(self.tensor.shape, self.true).fill_(False)
        if bool(self.touched.any()):
            raise _StoppedError(_BETWEEN)
        return self.tensor


def _kernel(case, inputs, *, walked=None, head_of=None, grid=None, other=0.0, **steps):
    """Program by program; each of ``steps`` replaces one step by a function of the state t.

    ``walked(case, name)`` gives other strides for a tensor than its own, ``head_of(pid, heads)`` another batch and head.
    """
    if "far" in " ".join(case[name] for name in "qkvo"):
        return {}
    try:
        outputs = {}
        for twin in ("", "_twin") if case["twin"] else ("",):
            layouts = {name: case["twin"] if twin else case[name] for name in "qkvo"}
            o = _launch(case, inputs, layouts, walked, head_of, grid, other, steps)
            if o.clash and case["device"] == "cuda":
                return {}
            outputs[f"o{twin}"] = o.stored()
    except _StoppedError as stopped:
        return str(stopped) or {}
    if not case["twin"]:
        return outputs
    one, other = (torch.where(o == UNWRITTEN, NAN, o) for o in outputs.values())  # NaN is what is there by then
    return {"o": outputs["o"], "layout": (one == other).flatten(2).all(2).flatten()}


def _launch(case, inputs, layouts, walked, head_of, grid, other, steps):
    def step(name):
        return steps.get(name, _STEPS[name])(t)

    memory = {
        name: _Memory(case, name, layouts[name], inputs.get(name), walked(case, name, layouts) if walked else None)
        for name in "qkvo"
    }
    tiles, pairs = math.ceil(case["seqlen_q"] / case["block_m"]), case["batch"] * case["heads"]
    t = SimpleNamespace(**case)
    t.d = torch.arange(case["block_d"])
    for x in range(tiles):
        for y in range(pairs):
            tile, pair = grid(x, y) if grid else (x, y)
            b, h = (head_of or _head_of)(pair, case["heads"])
            t.i, lane = tile * case["block_m"] + torch.arange(case["block_m"]), torch.arange(case["block_n"])
            t.row = t.i[:, None]
            t.real_row = (t.row < case["seqlen_q"]) & (t.d[None, :] < case["head"])
            t.q = memory["q"].load(memory["q"].places(b, h, t.i, t.d), step("q_live"), other)
            t.m, t.l = (torch.full((case["block_m"], 1), first).double() for first in (step("lowest"), 0.0))
            t.acc = torch.zeros(case["block_m"], case["block_d"]).double()
            for start in range(0, case["seqlen_k"], case["block_n"]):
                t.j = start + lane
                t.column = t.j[None, :]
                t.end = step("end")
                t.real_key = (t.j[:, None] < t.end) & (t.d[None, :] < case["head"])
                live = step("k_live")
                t.k, t.v = (
                    memory[x].load(memory[x].places(b, step("kv_head")(h), t.j, t.d), live, other) for x in "kv"
                )
                t.s = step("scores")
                keep = step("keep")
                if case["causal"]:
                    keep = keep & step("seen")
                t.s = torch.where(keep, t.s, -INF)
                m_new = torch.maximum(t.m, t.s.amax(1, keepdim=True))
                anchor = torch.where(m_new == -INF, 0.0, m_new)
                t.alpha, t.p = _exp(t.m - anchor), _exp(t.s - anchor)
                t.l = t.l * t.alpha + t.p.sum(1, keepdim=True)
                t.acc = step("rescaled") + step("product")
                t.m = m_new
            o = t.acc / torch.where(t.l == 0, 1.0, t.l)
            memory["o"].store(memory["o"].places(b, h, t.i, t.d), step("o_live"), o)
    return memory["o"]


def _head_of(pair, heads):
    return divmod(pair, heads)


_STEPS = {
    "lowest": lambda t: -INF,
    "q_live": lambda t: t.real_row,
    "k_live": lambda t: t.real_key,
    "o_live": lambda t: t.real_row,
    "end": lambda t: t.seqlen_k,
    "kv_head": lambda t: lambda h: h,
    "keep": lambda t: t.column < t.end,
    "seen": lambda t: t.column <= t.row + t.seqlen_k - t.seqlen_q,
    "scores": lambda t: t.q @ t.k.T * t.scale,
    "product": lambda t: t.p @ t.v,
    "rescaled": lambda t: t.acc * t.alpha,
}


# Strides


def strides_ignored(case, inputs):
    """Every tensor is walked as if it were contiguous: its strides are not used.

    Take a layout in which the heads of one token lie side by side. Where is row 1 of head 0 there?
    """
    return _kernel(case, inputs, walked=lambda case, name, layouts: _contiguous(case, name))


def column_stride_ignored(case, inputs):
    """The columns of every tensor are taken to lie side by side, whatever the last stride says.

    Each tensor has four strides. Which index is the last of them for, and where is it multiplied?
    """
    return _kernel(case, inputs, walked=lambda case, name, layouts: (*_strides(case, name, layouts[name])[:3], 1))


def key_strides_swapped(case, inputs):
    """k is read with its row stride and its column stride in each other's place.

    stride_kn leads from one key to the next. Which of the two indices is multiplied by it, whichever way round the tile
    of k is loaded?
    """

    def walked(case, name, layouts):
        b, h, n, d = _strides(case, name, layouts[name])
        return (b, h, d, n) if name == "k" else (b, h, n, d)

    return _kernel(case, inputs, walked=walked)


def value_by_key_strides(case, inputs):
    """v is walked by the strides of k.

    Each tensor has strides of its own. Follow the sixteen of them through the kernel: which are never used?
    """
    return _kernel(
        case, inputs, walked=lambda case, name, layouts: _strides(case, name, layouts["k" if name == "v" else name])
    )


def output_by_query_strides(case, inputs):
    """o is stored by the strides of q.

    Each tensor has strides of its own. Follow the sixteen of them through the kernel: which are never used?
    """
    return _kernel(
        case, inputs, walked=lambda case, name, layouts: _strides(case, name, layouts["q" if name == "o" else name])
    )


# Programs and heads


def batch_and_head_swapped(case, inputs):
    """The batch is taken for the head and the head for the batch.

    With 3 heads, which batch and which head does program number 4 have? The docstring says how the number is made.
    """
    return _kernel(case, inputs, head_of=lambda pair, heads: (pair % heads, pair // heads))


def program_ids_swapped(case, inputs):
    """The two program numbers have changed places: query tiles are counted by the one that counts heads.

    The docstring says what each of them counts. It goes unnoticed while there are as many tiles as heads.
    """
    return _kernel(case, inputs, grid=lambda x, y: (y, x))


def head_forgotten(case, inputs):
    """All programs of a batch work on its first head, and the other heads of o are never written.

    What is added to the pointers, besides the batch?
    """
    return _kernel(case, inputs, head_of=lambda pair, heads: (pair // heads, 0))


def keys_of_the_first_head(case, inputs):
    """Each head of q meets the keys and values of the first head of its batch.

    q, k, v and o have to be brought to the program's head. Compare the four pointers.
    """
    return _kernel(case, inputs, kv_head=lambda t: lambda h: 0)


# Masks


def columns_not_masked(case, inputs):
    """Columns from HEAD to BLOCK_D are loaded and stored as if they existed: they belong to something else.

    A head of 40 columns lies in a tile of 64. Which columns of a row exist, and what do the masks ask about?
    """
    return _kernel(
        case,
        inputs,
        q_live=lambda t: (t.row < t.seqlen_q).expand(-1, t.block_d),
        k_live=lambda t: (t.j[:, None] < t.end).expand(-1, t.block_d),
        o_live=lambda t: (t.row < t.seqlen_q).expand(-1, t.block_d),
    )


def columns_of_keys_not_masked(case, inputs):
    """Columns of k and v from HEAD to BLOCK_D are loaded as if they existed: other numbers are read there.

    Compare the masks of k and v with that of q.
    """
    return _kernel(case, inputs, k_live=lambda t: (t.j[:, None] < t.end).expand(-1, t.block_d))


def store_columns_not_masked(case, inputs):
    """Columns of o from HEAD to BLOCK_D are stored as if they existed, over what lies behind each row.

    A head of 40 columns lies in a tile of 64. Which columns of a row exist, and what does the mask of the store ask about?
    """
    return _kernel(case, inputs, o_live=lambda t: (t.row < t.seqlen_q).expand(-1, t.block_d))


def store_rows_not_masked(case, inputs):
    """Rows of a query tile that do not exist are stored too: over the next head, or over what lies behind o.

    What follows the last row of a head in memory? Compare the mask of the store with that of q.
    """
    return _kernel(case, inputs, o_live=lambda t: (t.d[None, :] < t.head).expand(t.block_m, -1))


def no_other(case, inputs):
    """The loads do not say what a masked lane reads as, and it is NaN here: whole tiles become NaN.

    Columns from HEAD on take part in every product. What do they have to be for it to come out right?
    """
    return _kernel(case, inputs, other=NAN)


def ghost_columns_unmasked(case, inputs):
    """Keys that do not exist take part in the softmax with a score of 0: they take weight from the real keys.

    Look at the columns behind the end of the keys, where k reads as 0. What is their score when exp comes?
    """
    return _kernel(case, inputs, keep=lambda t: t.column >= 0)


def keys_masked_by_query_length(case, inputs):
    """The keys are taken to end at the number of queries.

    The two lengths may differ. Which of them is in the masks of k, v and the scores?
    """
    return _kernel(case, inputs, end=lambda t: t.seqlen_q)


# What came along from Part B


def causal_top_left(case, inputs):
    """The causal mask is aligned at the first key: it is right only where there are as many queries as keys.

    The last query sees the last key. Which is the last key that query 0 sees?
    """
    return _kernel(case, inputs, seen=lambda t: t.column <= t.row)


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
    strides_ignored,
    column_stride_ignored,
    key_strides_swapped,
    value_by_key_strides,
    output_by_query_strides,
    batch_and_head_swapped,
    program_ids_swapped,
    head_forgotten,
    keys_of_the_first_head,
    columns_not_masked,
    columns_of_keys_not_masked,
    store_columns_not_masked,
    store_rows_not_masked,
    no_other,
    ghost_columns_unmasked,
    keys_masked_by_query_length,
    causal_top_left,
    acc_not_rescaled,
    maximum_starts_at_zero,
    tf32,
    *_TF32,
)

ALIASES = {variant.__name__: "tf32" for variant in _TF32}

# Stored columns that do not exist lie behind the end of o, and a kernel that has written there shows no outputs on a GPU.
GPU_ALIASES = {"columns_not_masked": "store_columns_not_masked"}

SIGNS = (
    (
        "does_the_work_of_others",
        "fail",
        r"\bone program stores",
        "A program writes more than its own part, as where one does the work of all and the others do none.\n\n"
        "Which part is its own, and where does its number say so?",
    ),
    (
        "tf32",
        "fail",
        r"tl\.dot rounds its float32 tiles to TF32",
        inspect.getdoc(tf32),
    ),
)
