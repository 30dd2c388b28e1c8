"""What wrong kernels for paged caches store: a torch model of each known mistake, with what to tell the student about it."""

import math
from types import SimpleNamespace

import torch

NAN, INF = float("nan"), float("inf")
_BAND = 65536  # elements on both sides of a tensor that are known to read as NaN on a GPU
_STORE_OUTSIDE = r"(?:stores outside|wrote past the end of) o\b"
_LOAD_OUTSIDE = r"loads outside (?:table|[kv]_pages)(?:_moved)?\b"


class _StoppedError(Exception):
    """The kernel does not come to its end on CPU; nothing is known of it on a GPU."""


def _f32(x):
    """Rounded to float32, with its overflow and underflow."""
    return x.float().double()


def _exp(x):
    return _f32(torch.exp(x))


def _model(case, inputs, *, left_over=False, **steps):
    """Sequence by sequence and page by page; each of ``steps`` replaces one step by a function of the state t."""

    def step(name):
        return {**_STEPS, **steps}[name](t)

    found = []
    try:
        for b in range(case["batch"]):
            t = SimpleNamespace(**case, b=b, table=inputs["table"].long(), seqlens=inputs["seqlens"].tolist())
            t.slot = torch.arange(case["page"])
            t.length = t.seqlens[b]
            t.length = step("length")
            t.m, t.l = (torch.full((case["heads"], 1), x).double() for x in (-INF, 0.0))
            t.acc = torch.zeros(case["heads"], case["head"]).double()
            for t.number in range(step("pages")):
                t.page_number = step("page")
                row = step("row")
                t.held = step("held")
                t.k, t.v = (_cells(case, inputs[f"{name}_pages"], row, t.held) for name in "kv")
                if left_over:
                    t.v = _cells(case, inputs["v_pages"], row, torch.ones_like(t.held))
                t.s = inputs["q"][b] @ t.k.T * case["scale"]
                t.s = step("mask")
                m_new = torch.maximum(t.m, t.s.amax(1, keepdim=True))
                anchor = torch.where(m_new == -INF, 0.0, m_new)
                t.alpha, p = _exp(t.m - anchor), _exp(t.s - anchor)
                l_kept, acc_kept = step("kept")
                t.l, t.acc, t.m = _f32(l_kept + p.sum(1, keepdim=True)), _f32(acc_kept + p @ t.v), m_new
            t.safe = torch.where(t.l == 0, 1.0, t.l)
            found.append((_f32(step("o")), _f32(step("lse"))[:, 0]))
    except _StoppedError:
        return _LOAD_OUTSIDE if case["device"] == "cpu" else {}
    o, lse = (torch.stack(parts) for parts in zip(*found, strict=True))
    return {"o": o, "lse": lse}


def _cells(case, pages, row, held):
    """Rows of the pool from ``row`` on, 0 where not held; on a GPU what lies before and behind it is NaN."""
    pool = pages.reshape(-1, pages.shape[2])
    at = row + torch.arange(len(held))
    outside = held & ((at < 0) | (at >= len(pool)))
    near = (at >= -(_BAND // pool.shape[1])) & (at < len(pool) + _BAND // pool.shape[1])
    if bool(outside.any()) and (case["device"] == "cpu" or not bool(near[outside].all())):
        raise _StoppedError
    read = torch.where(held[:, None], pool[at.clamp(0, len(pool) - 1)], 0.0)
    return torch.where(outside[:, None], NAN, read)


def _entry(t, index):
    """An entry of the table by its place in memory."""
    if index >= t.table.numel():
        raise _StoppedError
    return int(t.table.flatten()[index])


_STEPS = {
    "length": lambda t: t.length,
    "pages": lambda t: math.ceil(t.length / t.page),
    "page": lambda t: _entry(t, t.b * t.table.shape[1] + t.number),
    "row": lambda t: t.page_number * t.page,
    "held": lambda t: t.number * t.page + t.slot < t.length,
    "mask": lambda t: torch.where(t.held, t.s, -INF),
    "kept": lambda t: (t.l * t.alpha, t.acc * t.alpha),
    "o": lambda t: t.acc / t.safe,
    "lse": lambda t: t.m + t.safe.log(),
}


# Which page it is


def pages_in_order(case, inputs):
    """The pages of a sequence are taken to be the pool's first ones, in order: the table has no say.

    What holds the numbers of a sequence's pages? Look at how the address of a page is made.
    """
    return _model(case, inputs, page=lambda t: t.number)


def first_sequences_table(case, inputs):
    """The pages of every sequence are looked up in the first row of the table.

    Each sequence has a row of MAX_PAGES entries. Where does that of sequence 1 begin?
    """
    return _model(case, inputs, page=lambda t: _entry(t, t.number))


def table_row_as_long_as_the_sequence(case, inputs):
    """A row of the table is taken to have as many entries as the sequence has pages.

    All rows have the same number of entries. Which of the parameters is it?
    """
    return _model(case, inputs, page=lambda t: _entry(t, t.b * math.ceil(t.length / t.page) + t.number))


def same_page_every_step(case, inputs):
    """Every step takes the sequence's first page.

    In which line is the page looked up, and does it stand in the loop?
    """
    return _model(case, inputs, page=lambda t: _entry(t, t.b * t.table.shape[1]))


def table_looked_up_by_key(case, inputs):
    """The table is looked up by the number of a key, where it has an entry for each page.

    Which entry holds the page of key 16, if a page holds 16 keys?
    """
    return _model(case, inputs, page=lambda t: _entry(t, t.b * t.table.shape[1] + t.number * t.page))


def page_taken_for_a_row(case, inputs):
    """A page's number is taken for that of its first row: pages are read that overlap.

    How many rows of HEAD numbers does a page have? Work out the address of slot 0 of page 2.
    """
    return _model(case, inputs, row=lambda t: t.page_number)


def page_0_taken_for_none(case, inputs):
    """Keys in page 0 count for nothing, as if a 0 in the table were an empty entry.

    Pages are numbered from 0. What tells which entries of a row count?
    """
    return _model(
        case, inputs, held=lambda t: (t.number * t.page + t.slot < t.length) & torch.tensor(t.page_number > 0)
    )


# How far it goes


def first_sequences_length(case, inputs):
    """All sequences are taken to be as long as the first one.

    seqlens has a number for each sequence. Which of them is loaded?
    """
    return _model(case, inputs, length=lambda t: t.seqlens[0])


def last_page_dropped(case, inputs):
    """The last page of a sequence is left out where it is not full.

    How many pages does a sequence of 41 keys have, if a page holds 16?
    """
    return _model(case, inputs, pages=lambda t: t.length // t.page)


def last_page_taken_whole(case, inputs):
    """The free slots of the last page count as keys, with what others have left there.

    Which slots of a sequence's last page are its own? Look at the mask of the loads and at that of the scores.
    """
    return _model(case, inputs, held=lambda t: t.slot >= 0)


def ghosts_score_zero(case, inputs):
    """Free slots of the last page take weight: their score is 0, where -inf belongs.

    A key that is loaded as zeros has a score all the same. What keeps it out of the sum?
    """
    return _model(case, inputs, mask=lambda t: t.s)


def values_without_mask(case, inputs):
    """The values of free slots are loaded as they are, and NaN is among them: 0 times NaN is NaN.

    Their weight is 0 already. What must their values be for that to be enough?
    """
    return _model(case, inputs, left_over=True)


def heads_not_masked(case, inputs):
    """Rows of the tile that are no heads are stored: in o, they are the next sequence's.

    Look at the stores: which rows of the tile of queries exist?
    """
    return _STORE_OUTSIDE if case["heads"] < case["block_h"] else _model(case, inputs)


# The running softmax and its end


def acc_not_rescaled(case, inputs):
    """acc keeps its old measure when a later page raises the maximum; the sum of weights is right.

    Look at what happens to acc when the new maximum is larger than the old one, and compare it with l_i.
    """
    return _model(case, inputs, kept=lambda t: (t.l * t.alpha, t.acc))


def l_not_rescaled(case, inputs):
    """The sum of weights keeps its old measure when a later page raises the maximum; acc is right.

    Look at what happens to l_i when the new maximum is larger than the old one, and compare it with acc.
    """
    return _model(case, inputs, kept=lambda t: (t.l, t.acc * t.alpha))


def scale_forgotten(case, inputs):
    """The scores are not multiplied by the scale.

    Look at what becomes of the product of q and k before the softmax.
    """
    return _model({**case, "scale": 1.0}, inputs)


def scale_of_its_own(case, inputs):
    """The scores are divided by the root of the head size, and the scale that is handed in is not used.

    A caller may have another scale. Which arguments of the kernel are never used?
    """
    return _model({**case, "scale": case["head"] ** -0.5}, inputs)


def no_keys_divided_by_zero(case, inputs):
    """A sequence without keys is divided by a sum of 0: its output is NaN instead of 0.

    What is l_i if no page was walked over? Look at the last division.
    """
    return _model(case, inputs, o=lambda t: t.acc / t.l)


def lse_without_max(case, inputs):
    """lse is the logarithm of l_i alone; o is right.

    l_i adds up exp(s - m_i). Which number is the logarithm of the sum of exp(s)?
    """
    return _model(case, inputs, lse=lambda t: torch.where(t.l == 0, -INF, t.safe.log()))


MISTAKES = (
    pages_in_order,
    first_sequences_table,
    table_row_as_long_as_the_sequence,
    same_page_every_step,
    table_looked_up_by_key,
    page_taken_for_a_row,
    page_0_taken_for_none,
    first_sequences_length,
    last_page_dropped,
    last_page_taken_whole,
    ghosts_score_zero,
    values_without_mask,
    heads_not_masked,
    acc_not_rescaled,
    l_not_rescaled,
    scale_forgotten,
    scale_of_its_own,
    no_keys_divided_by_zero,
    lse_without_max,
)

# An entry from behind the table leads so far away that a GPU gives up: there, no outputs are left.
GPU_ALIASES = {"table_looked_up_by_key": "far_from_the_pages"}

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
        "pages_read_twice",
        "fail",
        r"elements of [kv]_pages are loaded in all",
        "The results are right, but more is loaded than each key once.\n\n"
        "Is a page loaded again for a second walk, or one that is not the sequence's? One walk is enough if the sums "
        "follow the maximum when it rises.",
    ),
    (
        "far_from_the_pages",
        "crashed",
        r"The GPU stopped the kernel: .*illegal memory access",
        "The kernel reads or writes so far from all tensors that the GPU stops it.\n\n"
        "What a page's number is multiplied by leads far away if it is no page's number. Which entry of the table does each "
        "step look up, and is it one of the sequence's row? There is an entry for each page, not for each key.",
    ),
)
