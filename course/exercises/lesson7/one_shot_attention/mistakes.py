"""What wrong kernels of Part A store: a torch model of each known mistake, with what to tell the student about it."""

import functools
import inspect
import math
from types import SimpleNamespace

import torch

NAN, INF = float("nan"), float("inf")
UNWRITTEN = torch.finfo(torch.float64).min  # what the grader shows for elements that were never written

# What stops a kernel, as patterns of the message.
_QUERY_OUTSIDE = r"loads outside q\b"
_KEYS_OUTSIDE = r"loads outside [kv]\b"
_MISFIT = r"Two tiles of different shapes meet here"
_STORE_OUTSIDE = r"(?:stores outside|wrote past the end of) o\b"

# Ways to write Part A that differ where a row underflows, and in ghost rows: whether ghost rows are masked and a row
# sum of 0 is replaced, as in the scaffold; and whether p is divided by l before the product with v.
_SCAFFOLD = (True, False)
_WAYS = {"divided_first": (True, True), "unguarded": (False, False), "unguarded_divided_first": (False, True)}


def _f32(x):
    """Rounded to float32, with its overflow and underflow."""
    return x.float().double()


def _exp(x):
    return _f32(torch.exp(x))


def _tf32(x):
    """As tensor cores read a float32 operand of a product in TF32: the lowest 13 bits are left out."""
    return (x.float().contiguous().view(torch.int32) & ~0x1FFF).view(torch.float32).double()


def _rows(x, index, other=0.0):
    """The rows of x at ``index``, and ``other`` behind its end."""
    return torch.where((index < len(x))[:, None], x[index.clamp(max=len(x) - 1)], other)


def _kernel(case, inputs, way=_SCAFFOLD, *, tile_step=None, first_key=0, values="v", other=0.0, **steps):
    """Part A, tile by tile. Each of ``steps`` replaces one step by a function of the tile t."""
    scaffold, divided_first = way
    nseq, head, block_m, block_n = case["nseq"], case["head"], case["block_m"], case["block_n"]
    o = torch.full((nseq * head,), UNWRITTEN, dtype=torch.float64)
    for program in range(math.ceil(nseq / block_m)):
        i = program * (tile_step or block_m) + torch.arange(block_m)
        j = first_key + torch.arange(block_n)
        t = SimpleNamespace(case=case, row=i[:, None], column=j[None, :], d=torch.arange(head)[None, :])
        t.q, t.k, t.v = _rows(inputs["q"], i), _rows(inputs["k"], j), _rows(inputs[values], j, other)
        t.raw = steps.get("scores", _scores)(t)
        t.real = t.column < nseq
        t.seen = steps.get("sees", _sees)(t) if case["causal"] else torch.tensor(True)
        t.s = steps.get("mask", _mask)(t)
        if scaffold:
            t.s = torch.where(t.row < nseq, t.s, -INF)
        t.m = steps.get("maximum", _maximum)(t)
        if scaffold:
            t.m = torch.where(t.row < nseq, t.m, 0.0)
        t.p = steps.get("weights", _weights)(t)
        t.l = _f32(steps.get("total", _total)(t))
        if scaffold:
            t.l = torch.where(t.l == 0, 1.0, t.l)
        t.o = steps.get("product", _divided_first if divided_first else _product)(t)
        to = steps.get("offsets", _offsets)(t)[i < nseq]
        if to.numel() and int(to.max()) >= o.numel():
            return _STORE_OUTSIDE
        for offsets, row in zip(to, t.o[i < nseq], strict=True):
            o[offsets] = row
    return {"o": o.reshape(nseq, head)}


def _scores(t):
    return t.q @ t.k.T * t.case["scale"]


def _sees(t):
    return t.column <= t.row


def _mask(t):
    return torch.where(t.real & t.seen, t.raw, -INF)


def _maximum(t):
    return t.s.amax(1, keepdim=True)


def _weights(t):
    return _exp(t.s - t.m)


def _total(t):
    return t.p.sum(1, keepdim=True)


def _product(t):
    return _f32((t.p.float() @ t.v.float()).double() / t.l)


def _divided_first(t):
    return (_f32(t.p / t.l).float() @ t.v.float()).double()


def _offsets(t):
    return t.row * t.case["head"] + t.d


def causal_forgotten(case, inputs):
    """Every query sees all keys, the future too: CAUSAL makes no difference.

    Look for what depends on CAUSAL, and at which keys the first query may see.
    """
    return _kernel(case, inputs, sees=lambda t: torch.tensor(True))


def causal_reversed(case, inputs):
    """The causal mask is turned around: a query sees its own key and the future, and not the past.

    Take query 1 of 3 and work out by hand which keys the comparison lets through.
    """
    return _kernel(case, inputs, sees=lambda t: t.column >= t.row)


def causal_strict(case, inputs):
    """The causal mask hides the diagonal too: a query does not see its own key, and the first row sees none.

    Look at the comparison in the causal mask for a query and a key with the same number.
    """
    return _kernel(case, inputs, sees=lambda t: t.column < t.row)


def causal_by_tile_row(case, inputs):
    """The causal mask counts rows from the start of the tile, so that only the first query tile is masked right.

    Look at which row index is compared with the keys: is it the query's number in the sequence?
    """
    return _kernel(case, inputs, sees=lambda t: t.column <= t.row % case["block_m"])


def causal_fill_zero(case, inputs):
    """Hidden keys get a score of 0 instead of none at all, and still take weight.

    What does exp make of a score of 0, and what would a score have to be for its weight to vanish?
    """
    return _kernel(case, inputs, mask=lambda t: torch.where(t.real, torch.where(t.seen, t.raw, 0.0), -INF))


def ghost_columns_unmasked(case, inputs):
    """Ghost keys take part in the softmax with a score of 0: they take weight from the real keys.

    Look at the columns behind the end of the sequence, where k reads as 0. What is their score when exp comes?
    """
    return _kernel(case, inputs, mask=lambda t: torch.where(t.seen, t.raw, -INF))


def mask_after_softmax(case, inputs):
    """Probabilities are masked after the softmax: the weight of hidden and ghost keys is still in the row sum.

    Look at which keys have been counted in l by the time the mask is applied.
    """
    return _kernel(case, inputs, mask=lambda t: t.raw, product=lambda t: _product(_with(t, p=t.p * (t.real & t.seen))))


def maximum_before_mask(case, inputs, way=_SCAFFOLD):
    """The row maximum is taken over hidden and ghost keys too: where they are far above, all visible ones underflow.

    Compare the line that takes the maximum with the line that masks: which comes first?
    """
    return _kernel(case, inputs, way, maximum=lambda t: t.raw.amax(1, keepdim=True))


def measured_from_zero(case, inputs, way=_SCAFFOLD):
    """Rows whose scores are all far below 0 underflow, as if 0 were subtracted from them and not their maximum.

    Work out by hand what is subtracted from the scores of a row with -120 and -130. What does exp make of the difference?
    """
    return _kernel(case, inputs, way, maximum=lambda t: _maximum(t).clamp(min=0.0))


def maximum_of_the_tile(case, inputs, way=_SCAFFOLD):
    """One maximum is subtracted for the whole tile: rows that lie far below it underflow.

    Look at the shape of m: how many numbers does a tile of BLOCK_M rows need?
    """
    return _kernel(case, inputs, way, maximum=lambda t: t.s.max().expand(len(t.s), 1))


def no_max_subtraction(case, inputs, way=_SCAFFOLD):
    """exp is taken of the scores as they are: it overflows for large ones, and underflows far below 0.

    Look at what becomes of the row maximum m after it has been computed.
    """
    return _kernel(case, inputs, way, weights=lambda t: _exp(t.s))


def scores_clamped(case, inputs, limit=80.0):
    """Scores are cut off at a limit so that exp does not overflow: all keys above it get the same weight.

    Two keys with scores 200 and 300: what weights should they have? Look for another way to keep exp small.
    """

    def weights(t):
        fits.append(bool(((t.s.amax(1) > -80.0) | (t.row[:, 0] >= case["nseq"])).all()))
        return _exp(t.s.clamp(max=limit))

    fits = []
    outputs = _kernel(case, inputs, weights=weights)
    return outputs if all(fits) else {}  # what underflow leaves depends on how the division is guarded


def sum_without_max(case, inputs, way=_SCAFFOLD):
    """The row sum adds up exp of the scores without their maximum, while p is measured against it.

    Compare the exponents in p and in l: the two have to belong together.
    """
    return _kernel(case, inputs, way, total=lambda t: _exp(t.s).sum(1, keepdim=True))


def sum_of_the_tile(case, inputs, way=_SCAFFOLD):
    """All rows of a tile are divided by one sum, that of the whole tile.

    Look at the shape of l: how many numbers does a tile of BLOCK_M rows need?
    """
    return _kernel(case, inputs, way, total=lambda t: t.p.sum().expand(len(t.p), 1))


def normalised_down_columns(case, inputs, way=_SCAFFOLD):
    """The weights of each key add up to 1 over the queries, where those of each query should over the keys.

    Look at the axis of the sum: rows of p are queries, columns are keys.
    """
    return _kernel(case, inputs, (way[0], True), total=lambda t: t.p.sum(0, keepdim=True))


def sum_down_the_columns(case, inputs, way=_SCAFFOLD):
    """The weights are summed down the columns of p, and row i is divided by the sum of column i.

    p is (BLOCK_M, BLOCK_N) and l is (BLOCK_M,). Which axis has to go in the sum?
    """
    if case["block_m"] != case["block_n"]:
        return _MISFIT
    return _kernel(case, inputs, way, total=lambda t: t.p.sum(0)[:, None])


def l_along_columns(case, inputs, way=_SCAFFOLD):
    """Column j is divided by the sum of row j, where each row has a sum of its own.

    A (BLOCK_M,) beside a tile of two axes runs along the last of them. Which axis of the tile belongs to l, and what
    does m have in s - m?
    """
    divided_first = way[1]
    if case["block_m"] != (case["block_n"] if divided_first else case["head"]):
        return _MISFIT
    return _kernel(case, inputs, way, total=lambda t: t.p.sum(1)[None, :])


def average_instead_of_sum(case, inputs):
    """The output is divided by the number of keys instead of the sum of the weights.

    What do the weights of a row add up to before they are normalised? Look at the divisor.
    """
    return _kernel(case, inputs, total=lambda t: torch.full((len(t.p), 1), float(case["nseq"])).double())


def division_forgotten(case, inputs):
    """The output is not divided by the row sum: each row is too large by that factor.

    Look at what l holds, and at the place where it is used.
    """
    return _kernel(case, inputs, total=lambda t: torch.ones(len(t.p), 1).double())


def exp2_without_log2e(case, inputs):
    """Weights are powers of 2 where powers of e belong: the softmax comes out flatter.

    exp(x) is exp2 of something: what has x to be multiplied by?
    """
    return _kernel(case, inputs, weights=lambda t: torch.exp2(t.s - t.m))


def scale_forgotten(case, inputs):
    """The scores are not multiplied by the scale.

    Look for the places where scale is used.
    """
    return _scaled(case, inputs, 1.0)


def scale_divided(case, inputs):
    """The scores are divided by the scale, and should be multiplied by it.

    The scale is 1 / sqrt(HEAD) as a rule. Should scores become larger by it, or smaller?
    """
    return _scaled(case, inputs, 1 / case["scale"])


def scale_twice(case, inputs):
    """The scores are multiplied by the scale twice.

    Look for all places where scale comes in, in q and in the exponent too.
    """
    return _scaled(case, inputs, case["scale"] ** 2)


def scale_one_over_d(case, inputs):
    """The scores are divided by the head size, whatever scale is handed in.

    Look at what the scores are multiplied by, and which parameter says what it should be.
    """
    return _scaled(case, inputs, 1.0 / case["head"])


def own_scale(case, inputs):
    """The scores are divided by the square root of the head size, whatever scale is handed in.

    As a rule the two are the same, but not always. Look at where the factor of the scores comes from.
    """
    return _scaled(case, inputs, case["head"] ** -0.5)


def scale_on_output(case, inputs):
    """The output is multiplied by the scale, and the scores are not.

    Look at where scale comes in: is it before or after exp?
    """
    return _kernel(case, inputs, scores=lambda t: t.q @ t.k.T, product=lambda t: _product(t) * case["scale"])


def key_tile_not_transposed(case, inputs):
    """q is multiplied with k as it lies: keys and columns of the head have changed places.

    Write down the shapes: (BLOCK_M, BLOCK_D) times what gives (BLOCK_M, BLOCK_N)?
    """
    if case["block_n"] != case["head"]:
        return {}  # the shapes do not fit
    return _kernel(case, inputs, scores=lambda t: t.q @ t.k * case["scale"])


def keys_in_a_query_tile(case, inputs):
    """Only the first BLOCK_M keys are ever seen, where a tile of keys has BLOCK_N of them.

    Look at how many numbers offs_n has, and at what limits the keys.
    """
    if case["block_m"] > case["block_n"]:
        return {}  # there it may come to nothing
    return _kernel({**case, "block_n": case["block_m"]}, inputs)


def keys_from_one(case, inputs):
    """Keys are counted from 1: the first key of the sequence is never seen.

    Look at the first number in offs_n.
    """
    return _kernel(case, inputs, first_key=1)


def value_from_key_pointer(case, inputs):
    """The output is an average of rows of k instead of rows of v.

    Look at the pointer that the values are loaded from.
    """
    return _kernel(case, inputs, values="k")


def value_without_other(case, inputs):
    """Ghost rows of v are undefined, and 0 times something undefined is not 0: the output becomes NaN.

    Look at the load of v: which rows does its mask let through, and what is read where the mask is off?
    """
    return _kernel(case, inputs, other=NAN)


def weights_in_half(case, inputs, way=_SCAFFOLD):
    """The weights and the values are rounded to float16 before their product: about three digits are left.

    Look at the dtypes of the operands of the second tl.dot.
    """
    if case["scale"] ** 2 * case["head"] > 1.5:
        return {}  # the float32 rounding of wider scores decides to which float16 a weight is rounded

    def half(x):
        return x.half().double()

    def product(t):
        return half(_f32(t.p / t.l)) @ half(t.v) if way[1] else half(t.p) @ half(t.v) / t.l

    return _kernel(case, inputs, product=product)


def tf32(case, inputs, way=_SCAFFOLD, scores="scores", product=True):
    """A tl.dot rounds float32 to TF32, as on newer GPUs it does unless told not to: about three digits are left.

    Look at the arguments of both tl.dot calls.
    """

    def rounded_product(t):
        return _tf32(_f32(t.p / t.l)) @ _tf32(t.v) if way[1] else _tf32(t.p) @ _tf32(t.v) / t.l

    steps = {"product": rounded_product} if product else {}
    if scores:
        steps["scores"] = _TF32_SCORES[scores]
    return _kernel(case, inputs, way, **steps)


_TF32_SCORES = {
    "scores": lambda t: _tf32(t.q) @ _tf32(t.k).T * t.case["scale"],
    "scaled_queries": lambda t: _tf32(_f32(t.q * t.case["scale"])) @ _tf32(t.k).T,
}


def only_the_first_tile(case, inputs):
    """Only the rows of the first query tile are ever written.

    Work out offs_m and the mask of the store by hand for the second program: which rows does it own?
    """
    return _kernel(case, inputs, tile_step=case["block_n"])


def program_is_a_row(case, inputs):
    """The program id is taken for the first row: neighbouring tiles overlap, and the last rows are never written.

    How many rows does one program own? Work out offs_m by hand for the second program.
    """
    return _kernel(case, inputs, tile_step=1)


def stored_in_the_first_tile(case, inputs):
    """Every program stores its output in the rows of the first tile.

    Look at the rows in the store, and compare them with those that q is loaded from.
    """
    if case["device"] == "cuda":
        return {}  # which of them wins is not known
    return _kernel(case, inputs, offsets=lambda t: _offsets(t) - t.row[0, 0] * case["head"])


def stored_by_length(case, inputs):
    """Rows of the output are stored NSEQ elements apart: that is not how far apart they lie.

    How many elements does one row of o have? Look at the offsets of the store.
    """
    return _kernel(case, inputs, offsets=lambda t: t.row * case["nseq"] + t.d)


def stored_by_tile_width(case, inputs):
    """Rows of the output are stored BLOCK_N elements apart: that is not how far apart they lie.

    How many elements does one row of o have? Look at the offsets of the store.
    """
    return _kernel(case, inputs, offsets=lambda t: t.row * case["block_n"] + t.d)


def store_without_mask(case, inputs):
    """The last tile stores rows behind the end of o.

    Look at the mask of the store: which rows of the tile does the sequence have?
    """
    return _STORE_OUTSIDE if case["nseq"] % case["block_m"] else _kernel(case, inputs)


def query_load_without_mask(case, inputs):
    """The last query tile loads rows of q that do not exist.

    Look at the load of q: which of its rows are behind the end of the sequence?
    """
    if case["device"] == "cuda":
        return {}  # such rows are stored nowhere
    return _QUERY_OUTSIDE if case["nseq"] % case["block_m"] else _kernel(case, inputs)


def key_loads_without_mask(case, inputs):
    """Ghost keys are loaded from behind the end of k or v.

    Look at the loads of k and v: which of the BLOCK_N rows does the sequence have?
    """
    if case["device"] == "cuda":
        return {}  # what lies there is as undefined as a masked lane
    return _KEYS_OUTSIDE if case["nseq"] % case["block_n"] else _kernel(case, inputs)


def o_not_stored(case, inputs):
    """o is never written.

    Look for the store of o: is there one on every way through the kernel, is it o_ptr that it stores to, and which
    elements does its mask let through?
    """
    return {"o": torch.full((case["nseq"], case["head"]), UNWRITTEN, dtype=torch.float64)}


def stored_transposed(case, inputs):
    """The output is stored column after column, as if o were (HEAD, NSEQ).

    Look at the offsets of the store: which of the two indices takes steps of 1?
    """
    return _kernel(case, inputs, offsets=lambda t: t.row + t.d * case["nseq"])


def _with(t, **changed):
    return SimpleNamespace(**{**vars(t), **changed})


def _scaled(case, inputs, scale):
    return _kernel(case, inputs, scores=lambda t: t.q @ t.k.T * scale)


def _variant(model, suffix, *arguments):
    """The same mistake in a kernel written another way."""

    @functools.wraps(model)
    def variant(case, inputs):
        return model(case, inputs, *arguments)

    variant.__name__ = f"{model.__name__}_{suffix}"
    return variant


_WRITTEN_IN_WAYS = (
    maximum_before_mask,
    measured_from_zero,
    maximum_of_the_tile,
    no_max_subtraction,
    sum_without_max,
    sum_of_the_tile,
    normalised_down_columns,
    sum_down_the_columns,
    l_along_columns,
    weights_in_half,
)

_VARIANTS = (
    *((model, _variant(model, name, way)) for model in _WRITTEN_IN_WAYS for name, way in _WAYS.items()),
    *((scores_clamped, _variant(scores_clamped, f"at_{limit}", float(limit))) for limit in (50, 60, 88)),
    *((tf32, _variant(tf32, f"in_{scores}", _SCAFFOLD, scores, False)) for scores in _TF32_SCORES),
    *(
        (tf32, _variant(tf32, f"in_{scores or 'no_scores'}_{name}", way, scores))
        for name, way in {"divided_last": _SCAFFOLD, "divided_first": _WAYS["divided_first"]}.items()
        for scores in (*_TF32_SCORES, "")
    ),
)

MISTAKES = (
    causal_forgotten,
    causal_reversed,
    causal_strict,
    causal_by_tile_row,
    causal_fill_zero,
    ghost_columns_unmasked,
    mask_after_softmax,
    maximum_before_mask,
    measured_from_zero,
    maximum_of_the_tile,
    no_max_subtraction,
    scores_clamped,
    sum_without_max,
    sum_of_the_tile,
    normalised_down_columns,
    sum_down_the_columns,
    l_along_columns,
    average_instead_of_sum,
    division_forgotten,
    exp2_without_log2e,
    scale_forgotten,
    scale_divided,
    scale_twice,
    scale_one_over_d,
    own_scale,
    scale_on_output,
    key_tile_not_transposed,
    keys_in_a_query_tile,
    keys_from_one,
    value_from_key_pointer,
    value_without_other,
    weights_in_half,
    tf32,
    only_the_first_tile,
    program_is_a_row,
    stored_in_the_first_tile,
    stored_by_length,
    stored_by_tile_width,
    stored_transposed,
    o_not_stored,
    store_without_mask,
    query_load_without_mask,
    key_loads_without_mask,
    *(variant for _, variant in _VARIANTS),
)

ALIASES = {
    "ghost_columns_zero": "ghost_columns_unmasked",  # a ghost key of 0 scores 0 anyway
    "wrong_tile_height": "later_tiles_not_written",  # BLOCK_N rows are all there are
    # On a GPU programs that all store to one place may look like it; and in one case a mask that ends there.
    "only_the_first_tile": "later_tiles_not_written",
    "maximum_from_zero": "measured_from_zero",  # a low maximum that is taken for none does the same
    **{variant.__name__: model.__name__ for model, variant in _VARIANTS},
}

# What lies behind the end of v is as undefined as a masked lane; and which program's rows win is a GPU's secret.
GPU_ALIASES = {"key_loads_without_mask": "value_without_other", "stored_in_the_first_tile": "later_tiles_not_written"}

# For what outputs cannot tell. A message is a sign of no more than what it says: the words must hold for every kernel
# that it may be said of. Where lanes or programs store to one place, what is left empty is all that a GPU tells.
SIGNS = (
    (
        "later_tiles_not_written",
        "fail",
        r"^Rows 32-99 of o were never written",
        "Of the four query tiles of this case, only the rows of the first are written.\n\n"
        "Work out offs_m, the rows of the store and its mask by hand for the second program.",
    ),
    ("stored_by_length", "fail", r"^228 of 640 elements of o were never written", inspect.getdoc(stored_by_length)),
    (
        "arange_end_inclusive",
        "compile-error",
        r"tl\.arange must span a power of two",
        "A tl.arange has a length that is no power of two. Its end is not included: arange(0, 32) has 32 numbers.\n\n"
        "Look at the bounds of each tl.arange.",
    ),
    (
        "arange_of_the_length",
        "compile-error",
        r"tl\.arange takes compile-time constants only",
        "A tl.arange has a bound that is known only when the kernel runs, such as the sequence length.\n\n"
        "Tiles have fixed sizes. What can keep the columns that do not exist out of the result?",
    ),
    (
        "dot_of_two_types",
        "compile-error",
        r"tl\.dot takes two tiles of one dtype",
        "tl.dot is given tiles of two dtypes.\n\nAll inputs are float32. Look for a conversion of one of the operands.",
    ),
    (
        "tf32",
        "fail",
        r"tl\.dot rounds its float32 tiles to TF32",
        inspect.getdoc(tf32),
    ),
)
