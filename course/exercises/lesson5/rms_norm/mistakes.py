"""What wrong RMSNorm kernels store: a torch model of each known mistake, with what to tell the student about it."""

import torch

NAN = float("nan")


def _norm(case, inputs, *, h=None, of=None, y=None, count=None, eps=None, mean_square=None, divisor=None, weight=None):
    """The kernel, with some of its steps replaced.

    ``h`` is what is stored, ``of`` what is normalised, ``count`` what the sum of squares is divided by, ``divisor``
    makes what a row is divided by from its mean square and eps, and ``y`` what is stored from the weighted row.
    """
    right = inputs["x"] + inputs["residual"]
    of = right if of is None else of
    eps = case["eps"] if eps is None else eps
    if mean_square is None:
        mean_square = (of * of).sum(1, keepdim=True) / (count or case["width"])
    below = divisor(mean_square, eps) if divisor else torch.sqrt(mean_square + eps)
    weighted = of / below * (inputs["weight"] if weight is None else weight)
    return {"h": right if h is None else h, "y": y(weighted) if y else weighted}


def mean_over_block(case, inputs):
    """The sum of squares is divided by the size of the block: ghosts add nothing to the sum but count in the mean.

    How many elements does a row have? Compare it with what the sum is divided by.
    """
    return _norm(case, inputs, count=case["block"])


def sum_for_mean(case, inputs):
    """Rows are divided by the root of the sum of their squares, not of the mean.

    Look at what lies between the sum and the root.
    """
    return _norm(case, inputs, count=1)


def eps_outside_root(case, inputs):
    """eps is added to the root, where it belongs to the mean square under the root.

    Look at the parentheses. For a mean square of 0 and eps = 1e-5, what is the row to be divided by?
    """
    return _norm(case, inputs, divisor=lambda mean_square, eps: torch.sqrt(mean_square) + eps)


def eps_forgotten(case, inputs):
    """eps has no effect: small rows come out too large, and a row of zeros is divided by 0.

    Look for the place where eps comes in.
    """
    return _norm(case, inputs, eps=0.0)


def own_eps(case, inputs):
    """The result is that of eps = 1e-5, whatever is handed in.

    Look at where the number added to the mean square comes from.
    """
    return _norm(case, inputs, eps=1e-5)


def root_forgotten(case, inputs):
    """Rows are divided by their mean square itself, and should be divided by its root.

    If a row is twice as large, what becomes of its mean square, and what of y?
    """
    return _norm(case, inputs, divisor=lambda mean_square, eps: mean_square + eps)


def mean_subtracted(case, inputs):
    """The mean of a row is subtracted before it is divided, as LayerNorm does.

    Compare the formula in the docstring with what happens to h before it is squared.
    """
    h = inputs["x"] + inputs["residual"]
    return _norm(case, inputs, of=h - h.mean(1, keepdim=True))


def weight_forgotten(case, inputs):
    """y is not multiplied by the weights.

    Look for the place where they come in.
    """
    return _norm(case, inputs, weight=1.0)


def weight_by_row(case, inputs):
    """From the second row on, weights are loaded from behind their end: the row's offset is in their address.

    How many rows of weights are there? Compare the address of the weights with that of x.
    """
    if case["rows"] > 1 and case["device"] == "cpu":
        return r"loads outside weight\b"
    weight = torch.full((case["rows"], case["width"]), NAN, dtype=torch.float64)
    weight[0] = inputs["weight"]
    return _norm(case, inputs, weight=weight)


def residual_after_norm(case, inputs):
    """The residual is added to y, after the norm: what is normalised is x alone.

    Look at the order: first the sum h, then the norm of h.
    """
    return _norm(case, inputs, of=inputs["x"], y=lambda weighted: weighted + inputs["residual"])


def norm_of_x(case, inputs):
    """h is right, but y is made from x alone, without the residual.

    Look at which tensor is squared, and which is divided.
    """
    return _norm(case, inputs, of=inputs["x"])


def normalised_h_stored(case, inputs):
    """y is right, but h is stored after the division: the residual stream is normalised away.

    Look at what h holds when it is stored.
    """
    right = inputs["x"] + inputs["residual"]
    mean_square = (right * right).mean(1, keepdim=True)
    return _norm(case, inputs, h=right / torch.sqrt(mean_square + case["eps"]))


def x_stored_as_h(case, inputs):
    """y is right, but h holds x: the residual is missing in what is stored.

    Look at what is stored to h_ptr.
    """
    return _norm(case, inputs, h=inputs["x"])


def ghosts_undefined(case, inputs):
    """Ghosts are undefined when they are loaded, and the sum of squares takes them in: all of y is NaN.

    What does tl.load take besides the mask, and which number leaves a sum as it is?
    """
    return _norm(case, inputs, mean_square=torch.tensor(NAN)) if case["width"] < case["block"] else _norm(case, inputs)


def rows_unmasked(case, inputs):
    """More columns are loaded than a row has: a narrow row takes in what comes next in memory.

    Look at the loads of x and of the residual: which columns of a block does the row have?
    """
    if case["width"] == case["block"]:
        return _norm(case, inputs)
    if case["device"] == "cpu":
        return rf"loads outside (?:x|residual)\b.*: row {case['rows']}, column 0\b"
    flat = [
        torch.nn.functional.pad(inputs[name].flatten(), (0, case["block"]), value=NAN) for name in ("x", "residual")
    ]
    at = torch.arange(case["rows"])[:, None] * case["width"] + torch.arange(case["block"])
    h = flat[0][at] + flat[1][at]
    return _norm(case, inputs, mean_square=(h * h).sum(1, keepdim=True) / case["width"])


def store_without_mask(case, inputs):
    """More columns are stored than a row has: behind a narrow row they overwrite what comes next in memory.

    Look at the stores of h and y: which columns of a block does the row have?
    """
    if case["width"] == case["block"]:
        return _norm(case, inputs)
    return rf"stores outside [hy]\b.*: row {case['rows']}, column 0\b|wrote past the end of [hy]\b"


MISTAKES = (
    mean_over_block,
    sum_for_mean,
    eps_outside_root,
    eps_forgotten,
    own_eps,
    root_forgotten,
    mean_subtracted,
    weight_forgotten,
    weight_by_row,
    residual_after_norm,
    norm_of_x,
    normalised_h_stored,
    x_stored_as_h,
    ghosts_undefined,
    rows_unmasked,
    store_without_mask,
)

# What outputs cannot tell: how often something is read.
SIGNS = (
    (
        "done_by_every_program",
        "fail",
        r"\belements of (?:x|residual) are loaded in all|\bone program stores",
        "A program does more than its own part, as where every program does the work of all.\n\n"
        "Which elements does it own, and where does its number say so?",
    ),
)
