"""What wrong half-precision matrix products store: a torch model of each known mistake, with words for the student."""

import math

import torch

NAN = float("nan")
UNWRITTEN = torch.finfo(torch.float64).min  # what the grader shows for elements that were never written
_LOAD_OUTSIDE = r"loads outside {}\b"
_LOAD_BEHIND = r"loads outside {}\b.*: row {}, column 0\b"  # the first element behind the last row
_STORE_BEHIND = r"stores outside c(?:_other)?\b.*: row {}, column 0\b|wrote past the end of c(?:_other)?\b"
_BAND = 65536  # elements behind the end of a tensor that are known to read as NaN on a GPU


def _f32(x):
    """Rounded to float32, with its overflow and underflow."""
    return x.float().double()


def _half(x):
    return x.half().double()


class _StoppedError(Exception):
    """The kernel does not come to its end, and this is a pattern of the message; empty where nothing is known of it."""


class _Step:
    """One step along K: the indices of all rows i, of its terms k and of all columns j, and how a and b are read."""

    def __init__(self, case, inputs, start):
        tiles_m, tiles_n = (math.ceil(case[size] / case[f"block_{size}"]) for size in "mn")
        self.case, self.inputs = case, inputs
        self.i = torch.arange(tiles_m * case["block_m"])[:, None]
        self.j = torch.arange(tiles_n * case["block_n"])[None, :]
        self.place = torch.arange(case["block_k"])
        self.terms = start + self.place

    def a(self, address=None, live=None, other=0.0):
        """All tiles of a in this step, below each other (rows, block_k); ``live`` is the mask."""
        k = self.terms[None, :]
        address = self.i * self.case["k"] + k if address is None else address
        rows = self.i < self.case["m"]
        return self._read("a", address, rows & (k < self.case["k"] if live is None else live), other)

    def b(self, address=None, live=None, other=0.0):
        """All tiles of b in this step, beside each other (block_k, columns)."""
        k = self.terms[:, None]
        address = k * self.case["n"] + self.j if address is None else address
        columns = self.j < self.case["n"]
        return self._read("b", address, columns & (k < self.case["k"] if live is None else live), other)

    def _read(self, name, address, live, other):
        x = self.inputs[name].flatten()
        live = live.expand(address.shape)
        behind = live & (address >= x.numel())
        if self.case["device"] == "cpu" and bool(behind.any()):
            raise _StoppedError(_LOAD_OUTSIDE.format(name))
        if bool((live & (address >= x.numel() + _BAND)).any()):
            raise _StoppedError
        read = torch.where(live, x[address.clamp(max=x.numel() - 1)], other)
        return torch.where(behind, NAN, read)


_YES = torch.tensor(True)


def _kernel(case, inputs, a=_Step.a, b=_Step.b, product=torch.matmul, add=torch.add, store=None, steps=None):
    """Step by step; ``a`` and ``b`` load, ``add`` takes the product of a step into the accumulator."""
    m, n = case["m"], case["n"]
    acc = torch.zeros(
        math.ceil(m / case["block_m"]) * case["block_m"], math.ceil(n / case["block_n"]) * case["block_n"]
    )
    acc = acc.double()
    try:
        for start in range(0, case["k"], case["block_k"])[:steps]:
            step = _Step(case, inputs, start)
            acc = _f32(add(acc, product(a(step), b(step))))
    except _StoppedError as stopped:
        return str(stopped) or {}
    return store(acc) if store else {"c": acc[:m, :n]}


def _knows(case):
    """Whether a float16 sum is known: a GPU adds in an order of its own, and all that is sure is what overflows."""
    return case["device"] == "cpu" or case["signs"] != "mixed"


def acc_in_half(case, inputs):
    """The running sum is kept in float16: it loses digits at every step, and is infinite above 65504.

    Look at the dtype of the accumulator, and of all that is added to it.
    """
    if not _knows(case):
        return {}
    return _kernel(case, inputs, product=_half_product, add=lambda acc, step: _half(acc + step))


def product_in_half(case, inputs):
    """The product of each step is rounded to float16 before it is added: about three digits are left.

    tl.dot gives float32 for float16 tiles if it is left to. Look at its arguments, and at what becomes of its result.
    """
    if not _knows(case):
        return {}
    return _kernel(case, inputs, product=_half_product)


def output_in_half(case, inputs):
    """The sum is right and is rounded to float16 before it is stored: about three digits are left, and none above 65504.

    c is float32. Which dtype does the tile have that is stored?
    """
    m, n = case["m"], case["n"]
    return _kernel(case, inputs, store=lambda acc: {"c": _half(acc)[:m, :n]})


def _half_product(a, b):
    return _half(_f32(a @ b))


def tail_dropped(case, inputs):
    """The last step along K is left out where it is not full.

    How many steps does K take if it is no multiple of BLOCK_K? Work it out for K = 45 and steps of 16.
    """
    return _kernel(case, inputs, steps=case["k"] // case["block_k"])


def one_step(case, inputs):
    """Only the first BLOCK_K terms of each sum are added.

    Where are the steps along K, and what does each of them load?
    """
    return _kernel(case, inputs, steps=1)


def acc_overwritten(case, inputs):
    """Each step replaces the sum instead of adding to it: what is stored is the product of the last step alone.

    c sums over all of K. What happens to the accumulator when the next product comes, and where does it begin with 0?
    """
    return _kernel(case, inputs, add=lambda acc, step: step)


def same_tile_every_step(case, inputs):
    """Every step along K loads the first tiles again.

    Which indices move on from step to step? Look for them in the offsets of both loads.
    """

    def a(step):
        return step.a(step.i * case["k"] + step.place[None, :])

    def b(step):
        return step.b(step.place[:, None] * case["n"] + step.j)

    return _kernel(case, inputs, a, b)


def _behind(found, *patterns):
    """The outputs, or if the kernel is stopped, one of the messages with the first element behind a matrix."""
    return "|".join(patterns) if isinstance(found, str) else found


def k_not_masked(case, inputs):
    """The last step along K reads beyond the end of a row of a, and beyond the last row of b.

    Each load has ghosts along two axes. Which of them does the mask stop?
    """
    found = _kernel(case, inputs, lambda step: step.a(live=_YES), lambda step: step.b(live=_YES))
    return _behind(found, _LOAD_BEHIND.format("a", case["m"]), _LOAD_BEHIND.format("b", case["k"]))


def k_of_a_not_masked(case, inputs):
    """The last step along K reads beyond the end of a; b is masked there.

    Compare the two masks. Along which axis of a does K run?
    """
    return _behind(_kernel(case, inputs, lambda step: step.a(live=_YES)), _LOAD_BEHIND.format("a", case["m"]))


def k_of_b_not_masked(case, inputs):
    """The last step along K reads rows of b that do not exist; a is masked there.

    Compare the two masks. Along which axis of b does K run?
    """
    return _behind(_kernel(case, inputs, b=lambda step: step.b(live=_YES)), _LOAD_BEHIND.format("b", case["k"]))


def rows_not_masked(case, inputs):
    """The last tile of rows loads rows of a that do not exist.

    Each load has ghosts along two axes. Which of them does the mask of a stop?
    """
    if case["device"] == "cuda":
        return {}  # such rows are stored nowhere
    return _LOAD_BEHIND.format("a", case["m"]) if case["m"] % case["block_m"] else _kernel(case, inputs)


def columns_not_masked(case, inputs):
    """The last tile of columns loads beyond the end of b.

    Each load has ghosts along two axes. Which of them does the mask of b stop?
    """
    if case["device"] == "cuda":
        return {}  # such columns are stored nowhere
    return _LOAD_BEHIND.format("b", case["k"]) if case["n"] % case["block_n"] else _kernel(case, inputs)


def no_other(case, inputs):
    """The ghosts of the last step along K are undefined: they are not masked, or nothing says what a masked one reads as.

    Their products go into every sum, and 0 times something undefined is not 0. Compare the arguments of the two loads.
    """
    return _kernel(case, inputs, lambda step: step.a(other=NAN), lambda step: step.b(other=NAN))


def b_read_as_its_transpose(case, inputs):
    """b is read as if its rows were its columns: its elements are taken in the wrong order.

    b is (K, N), row after row. Which of its two indices is multiplied in the offsets, and by what?
    """
    return _kernel(case, inputs, b=lambda step: step.b(step.j * case["k"] + step.terms[:, None]))


def rows_of_c_m_apart(case, inputs):
    """Rows of c are stored M elements apart: that is how many rows it has, and not how far apart they lie.

    c is (M, N), row after row. How many elements does one of its rows have?
    """
    m, n, block_m, block_n = case["m"], case["n"], case["block_m"], case["block_n"]
    if m > n > 0 and (m - 1) * m + n > m * n:
        return r"(?:stores outside|wrote past the end of) c(?:_other)?\b"
    if m < n and case["device"] == "cuda":
        return {}  # which of two elements stands last in one place is a matter of order

    def store(acc):
        c = torch.full((m * n,), UNWRITTEN, dtype=torch.float64)
        for first in range(0, m, block_m):
            for column in range(0, n, block_n):
                for i in range(first, min(first + block_m, m)):
                    part = acc[i, column : min(column + block_n, n)]
                    c[i * m + column : i * m + column + len(part)] = part
        return {"c": c.reshape(m, n)}

    return _kernel(case, inputs, store=store)


def stored_transposed(case, inputs):
    """c is stored column after column, as if it were (N, M).

    c is (M, N), row after row. Which of the two indices takes steps of 1 in the offsets of the store?
    """
    m, n = case["m"], case["n"]
    return _kernel(case, inputs, store=lambda acc: {"c": acc[:m, :n].T.reshape(m, n)})


def store_without_mask(case, inputs):
    """The store goes beyond c.

    A tile at the edge has elements that c does not have. What keeps them from being stored?
    """
    ragged = case["m"] % case["block_m"] or case["n"] % case["block_n"]
    return _STORE_BEHIND.format(case["m"]) if ragged else _kernel(case, inputs)


MISTAKES = (
    acc_in_half,
    product_in_half,
    output_in_half,
    tail_dropped,
    one_step,
    acc_overwritten,
    same_tile_every_step,
    k_not_masked,
    k_of_a_not_masked,
    k_of_b_not_masked,
    rows_not_masked,
    columns_not_masked,
    no_other,
    b_read_as_its_transpose,
    rows_of_c_m_apart,
    stored_transposed,
    store_without_mask,
)

ALIASES = {"acc_reset_in_the_loop": "acc_overwritten"}

# What lies behind the end of b is as undefined as a masked lane.
GPU_ALIASES = {"k_not_masked": "no_other"}

SIGNS = (
    (
        "done_by_every_program",
        "fail",
        r"\belements of (?:a|b) are loaded in all|\bone program stores",
        "A program does more than its own part, as where every program does the work of all.\n\n"
        "Which elements does it own, and where does its number say so?",
    ),
    (
        "acc_begins_in_half",
        "compile-error",
        r"changes its type within the loop, from \(\d+, \d+\) fp16 to \(\d+, \d+\) fp32",
        "A tile begins in float16 and is float32 after the first step: float32 products were added to it.\n\n"
        "The interpreter lets that pass, a compiled loop does not. Which dtype does the accumulator begin with?",
    ),
    (
        "one_wide_step",
        "fail",
        r"one load takes \d+ elements of [ab] at once|\ba tile is \d+ long",
        "One step takes more than BLOCK_K terms: some K will not fit into it.\n\n"
        "How many terms of the sum does one step take, and what goes on to the next ones?",
    ),
    (
        "dot_of_two_types",
        "compile-error",
        r"tl\.dot takes two tiles of one dtype",
        "tl.dot is given tiles of two dtypes.\n\nBoth matrices are float16. Look for a conversion of one of the operands.",
    ),
)
