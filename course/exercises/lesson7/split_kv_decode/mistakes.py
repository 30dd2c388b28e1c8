"""What wrong split-key kernels store: a torch model of each known mistake, with what to tell the student about it."""

import math
from types import SimpleNamespace

import torch

INF = float("inf")
LN2 = math.log(2)


def _f32(x):
    """Rounded to float32, with its overflow and underflow."""
    return x.float().double()


def _exp(x):
    return _f32(torch.exp(x))


def _model(case, inputs, *, combine=None, length=None, cache=None, **steps):
    """Split by split, then sequence by sequence; each of ``steps`` replaces one step by a function of the state t."""

    def step(name):
        return {**_STEPS, **steps}[name](t)

    parts = []
    for b, own_length in enumerate(inputs["seqlens"].tolist()):
        for number in range(_splits(case)):
            t = SimpleNamespace(**case, own=own_length, length=own_length if length is None else length(case, inputs))
            t.q, t.first = inputs["q"][b], number * case["chunk"]
            t.cache = {name: inputs[name][b if cache is None else cache] for name in "kv"}
            t.keys = step("keys")
            t.m, t.l, t.acc = (
                torch.tensor(-INF).double(),
                torch.tensor(0.0).double(),
                torch.zeros(case["head"]).double(),
            )
            for keys in t.keys.split(case["block_n"]) if len(t.keys) else ():
                _tile(t, step, keys)
            t.empty = t.l == 0
            t.safe = torch.where(t.empty, 1.0, t.l)
            parts.append((step("part_o"), step("part_lse")))
    shape = (case["batch"], _splits(case))
    part_o = _f32(torch.stack([o for o, _ in parts])).reshape(*shape, case["head"])
    part_lse = _f32(torch.stack([lse for _, lse in parts])).reshape(shape)
    wholes = [_whole(case, o, lse, combine or {}) for o, lse in zip(part_o, part_lse, strict=True)]
    o, lse = (torch.stack(found) for found in zip(*wholes, strict=True))
    return {"part_o": part_o, "part_lse": part_lse, "o": o, "lse": lse}


def _tile(t, step, keys):
    """Take one tile of keys into the running softmax."""
    k, v = (t.cache[name][keys] for name in "kv")
    t.s = step("scores")(k)
    t.s, v = torch.cat([t.s, zeros := step("ghosts")(len(keys))]), torch.cat([v, v.new_zeros(len(zeros), v.shape[1])])
    m_new = torch.maximum(t.m, t.s.max())
    t.alpha, p = _exp(t.m - m_new), _exp(t.s - m_new)
    l_kept, acc_kept = step("kept")
    t.l, t.acc, t.m = _f32(l_kept + p.sum()), _f32(acc_kept + p @ v), m_new


def _keys(t):
    return torch.arange(t.first, max(t.first, min(t.first + t.chunk, t.length)))


_STEPS = {
    "keys": _keys,
    "scores": lambda t: lambda k: (k @ t.q) * t.scale,
    "ghosts": lambda t: lambda keys: torch.zeros(0).double(),  # scores of keys that are none
    "kept": lambda t: (t.l * t.alpha, t.acc * t.alpha),
    "part_o": lambda t: t.acc / t.safe,
    "part_lse": lambda t: t.m + t.safe.log(),
}


def _whole(case, part_o, part_lse, steps):
    """o (head,) and lse () of one sequence; each of ``steps`` replaces one step by a function of the state t."""
    t = SimpleNamespace(part_o=part_o, part_lse=part_lse, splits=len(part_lse))
    if spare := steps.get("spare"):
        t.part_lse = torch.cat([part_lse, spare(t)])
        t.part_o = torch.cat([part_o, part_o.new_zeros(len(t.part_lse) - len(part_lse), case["head"])])
    t.top = t.part_lse.max()
    t.base = steps.get("base", lambda t: torch.where(t.top == -INF, 0.0, t.top))(t)
    t.weight = _exp(t.part_lse - t.base)
    t.total = _f32(t.weight.sum())
    t.divisor = torch.where(t.total == 0, 1.0, t.total)
    o = steps.get("o", lambda t: t.weight @ t.part_o / t.divisor)(t)
    return _f32(o), _f32(steps.get("lse", lambda t: torch.where(t.total == 0, -INF, t.base + t.divisor.log()))(t))


def _splits(case):
    return math.ceil(case["capacity"] / case["chunk"])


# The splits


def every_split_takes_all(case, inputs):
    """Every split takes in all of the sequence's keys: its output is that of the whole, and its share is, too.

    Look at where the walk over the keys begins and ends, and what the split's number has to do with it.
    """
    return _model(case, inputs, keys=lambda t: torch.arange(t.length))


def chunk_end_ignored(case, inputs):
    """The last tile of a split takes in keys of the next one, which are counted twice.

    A split need not end where a tile does. At which key does the mask stop?
    """

    def keys(t):
        own = _keys(t)
        tiles = math.ceil(len(own) / t.block_n)
        return torch.arange(t.first, max(t.first, min(t.first + tiles * t.block_n, t.length)))

    return _model(case, inputs, keys=keys)


def length_ignored(case, inputs):
    """What lies behind a sequence's end in its cache counts as keys of it.

    Where does a short sequence end? Look at what limits a split's keys besides CHUNK.
    """
    return _model(case, inputs, length=lambda case, inputs: case["capacity"])


def first_sequences_length(case, inputs):
    """All sequences are taken to be as long as the first one.

    seqlens has a number for each sequence. Which of them is loaded?
    """
    return _model(case, inputs, length=lambda case, inputs: int(inputs["seqlens"][0]))


def first_sequences_cache(case, inputs):
    """Every query looks at the keys and values of the first sequence.

    Work out the address of key 0 of sequence 1: how much room does a sequence have in the cache?
    """
    return _model(case, inputs, cache=0)


def ghosts_score_zero(case, inputs):
    """Ghost keys in the last tile of a split take weight: their score is 0, where -inf belongs.

    A key that is loaded as zeros has a score all the same. What keeps it out of the sum?
    """

    def ghosts(t):
        return lambda keys: torch.zeros(t.block_n - keys).double()

    return _model(case, inputs, ghosts=ghosts)


def part_not_divided(case, inputs):
    """A split's output is the sum of its weighted values, not divided by the sum of its weights.

    Compare what is stored as part_o with its formula in the handout.
    """
    return _model(case, inputs, part_o=lambda t: t.acc)


def part_lse_without_max(case, inputs):
    """A split's log-sum-exp is the logarithm of its sum alone, without the maximum that was subtracted.

    The sum adds up exp(s - m). Which number is the logarithm of the sum of exp(s)?
    """
    return _model(case, inputs, part_lse=lambda t: torch.where(t.empty, -INF, t.safe.log()))


def part_lse_base_two(case, inputs):
    """A split's log-sum-exp is stored in base 2, where natural units belong.

    Look at what the maximum and the logarithm of the sum are measured in.
    """
    return _model(case, inputs, part_lse=lambda t: (t.m + t.safe.log()) / LN2)


def empty_split_divided_by_zero(case, inputs):
    """The output of a split without keys is 0 / 0, and NaN times a share of 0 is NaN in the whole as well.

    What is the sum of the weights of no key? Look at the division at the end of a split.
    """
    return _model(case, inputs, part_o=lambda t: t.acc / t.l)


def empty_split_takes_a_share(case, inputs):
    """A split without keys has a log-sum-exp of 0, as if it had a key with a score of 0.

    What is the logarithm of an empty sum? Look at what is stored as part_lse if no key has been seen.
    """
    return _model(case, inputs, part_lse=lambda t: torch.where(t.empty, 0.0, t.m + t.safe.log()))


def acc_not_rescaled(case, inputs):
    """acc keeps its old measure when a later tile of the split raises the maximum; the sum of weights is right.

    Look at what happens to acc when the new maximum is larger than the old one, and compare it with l.
    """
    return _model(case, inputs, kept=lambda t: (t.l * t.alpha, t.acc))


def l_not_rescaled(case, inputs):
    """The sum of weights keeps its old measure when a later tile of the split raises the maximum; acc is right.

    Look at what happens to l when the new maximum is larger than the old one, and compare it with acc.
    """
    return _model(case, inputs, kept=lambda t: (t.l, t.acc * t.alpha))


def scale_forgotten(case, inputs):
    """The scores are not multiplied by the scale.

    Look at what becomes of q.k before the softmax.
    """
    return _model(case, inputs, scores=lambda t: lambda k: k @ t.q)


def scale_of_its_own(case, inputs):
    """The scores are divided by the root of the head size, and the scale that is handed in is not used.

    A caller may have another scale. Which arguments of the kernel are never used?
    """
    return _model(case, inputs, scores=lambda t: lambda k: (k @ t.q) / t.head**0.5)


# The combination


def parts_averaged(case, inputs):
    """The output is the plain average of the splits' outputs, whatever their shares; lse is right.

    Does a split with a single key count as much as one with a hundred? Look at what each part is multiplied by.
    """
    return _model(case, inputs, combine={"o": lambda t: t.part_o.sum(0) / t.splits})


def shares_not_normalised(case, inputs):
    """The splits' outputs are weighed and added up, and not divided by the sum of the weights; lse is right.

    What do the shares of all splits have to add up to?
    """
    return _model(case, inputs, combine={"o": lambda t: t.weight @ t.part_o})


def shares_without_maximum(case, inputs):
    """exp is taken of the log-sum-exps as they are: it overflows for large ones.

    What becomes of exp(300) in float32? Shares depend on differences alone.
    """
    steps = {
        "base": lambda t: torch.zeros_like(t.top),
        "o": lambda t: t.weight @ t.part_o / t.divisor,
        "lse": lambda t: t.total.log(),
    }
    return _model(case, inputs, combine=steps)


def shares_measured_from_the_first(case, inputs):
    """Shares are measured from the log-sum-exp of the first split: where another is far larger, exp overflows.

    From which of the log-sum-exps must the others be measured so that none of the exponents is above 0?
    """

    def base(t):
        return torch.where(t.part_lse[0] == -INF, 0.0, t.part_lse[0])

    return _model(case, inputs, combine={"base": base})


def shares_measured_from_zero(case, inputs):
    """Where the log-sum-exps of all splits lie far below 0, their shares underflow, as if measured from 0.

    Look at what is subtracted before exp: is it the largest log-sum-exp also where that is negative?
    """
    return _model(case, inputs, combine={"base": lambda t: t.top.clamp(min=0.0)})


def spare_lanes_take_a_share(case, inputs):
    """Lanes behind the last split count as splits with a log-sum-exp of 0 and an output of 0.

    BLOCK_S may be larger than SPLITS. Which log-sum-exp has a lane to read that is no split?
    """

    def spare(t):
        return torch.zeros(max(16, 2 ** math.ceil(math.log2(t.splits))) - t.splits).double()

    return _model(case, inputs, combine={"spare": spare})


def no_keys_at_all_nan(case, inputs):
    """A sequence without keys comes out as NaN: the maximum of its log-sum-exps is -inf, and is subtracted from them.

    What is -inf minus -inf? Look at the exponent for a sequence of which every split is empty.
    """
    return _model(case, inputs, combine={"base": lambda t: t.top, "lse": lambda t: t.top + t.divisor.log()})


def lse_is_the_largest_part(case, inputs):
    """lse is the largest of the splits' log-sum-exps, and says nothing of the others; o is right.

    Look at the formula of lse in the handout: what besides the largest belongs in it?
    """
    return _model(case, inputs, combine={"lse": lambda t: t.top})


MISTAKES = (
    every_split_takes_all,
    chunk_end_ignored,
    length_ignored,
    first_sequences_length,
    first_sequences_cache,
    ghosts_score_zero,
    part_not_divided,
    part_lse_without_max,
    part_lse_base_two,
    empty_split_divided_by_zero,
    empty_split_takes_a_share,
    acc_not_rescaled,
    l_not_rescaled,
    scale_forgotten,
    scale_of_its_own,
    parts_averaged,
    shares_not_normalised,
    shares_without_maximum,
    shares_measured_from_zero,
    shares_measured_from_the_first,
    spare_lanes_take_a_share,
    no_keys_at_all_nan,
    lse_is_the_largest_part,
)

# The first sequence fills its cache.
ALIASES = {"first_sequences_length": "length_ignored"}

# For what outputs cannot tell. A message is a sign of no more than what it says.
SIGNS = (
    (
        "does_the_work_of_others",
        "fail",
        r"\bone program stores",
        "A program writes more than its own part, as where one does the work of all and the others do none.\n\n"
        "Which part is its own, and where does its number say so?",
    ),
    (
        "reads_all_keeps_part",
        "fail",
        r"elements of [kv] are loaded in all",
        "The results are right, but keys or values are read more than once, or free room of the cache is: programs load "
        "what is not their split's.\n\n"
        "Reading is all the cost there is. Where do a split's keys begin, and could its walk begin and end there?",
    ),
)
