"""What known wrong pin_ghost_rows kernels lead to, for naming the mistake in one that fails."""

import torch

_INF = float("inf")


def _seen(case, inputs, m):
    """The observed outputs for the pinned maxima ``m`` (rows,): the harness's arithmetic, in float32."""
    m = m.float()
    p = torch.exp(inputs["s"].float() - m[:, None])
    l = p.sum(1)
    share = p / torch.where(l == 0, 1.0, l)[:, None]
    mass = share.reshape(-1, case["block_m"], share.shape[1]).sum(1)
    return {"m": m[: case["nseq"]].double(), "finite": torch.isfinite(m), "mass": mass.double()}


def _row(inputs):
    return torch.arange(inputs["s"].shape[0])


def _pinned(case, inputs, m, pin=0.0):
    """``m`` with the right pin."""
    return _seen(case, inputs, torch.where(_row(inputs) < case["nseq"], m, pin))


def no_pin(case, inputs):
    """A ghost row's m is still -inf or NaN, so exp(s - m) gives NaN there, and the sum down each column is NaN.

    What is the maximum of a row that is -inf throughout, and what does the code make of it? 0 times -inf is NaN too.
    """
    return _seen(case, inputs, inputs["s"].amax(1))


def one_ghost_unpinned(case, inputs):
    """All ghost rows are pinned but the first one, at index NSEQ.

    Rows are counted from 0. What is the index of the last live row, and where does the comparison draw the line?
    """
    return _seen(case, inputs, torch.where(_row(inputs) <= case["nseq"], inputs["s"].amax(1), 0.0))


def tile_local_rows(case, inputs):
    """Ghost rows are found by their place inside the tile, which starts at 0 again in every tile.

    It holds in the first tile only. Which of the arguments knows a row's index in the whole sequence?
    """
    return _seen(case, inputs, torch.where(_row(inputs) % case["block_m"] < case["nseq"], inputs["s"].amax(1), 0.0))


def live_rows_pinned(case, inputs):
    """Live rows come out as 0, and ghost rows without a finite number, as if the pin worked the wrong way round.

    Which rows should keep their maximum? tl.where takes its second argument where the condition is true.
    """
    return _seen(case, inputs, torch.where(_row(inputs) < case["nseq"], 0.0, inputs["s"].amax(1)))


def last_row_pinned(case, inputs):
    """The last live row is pinned along with the ghosts.

    Rows are counted from 0. Check the comparison for a sequence of a single row.
    """
    return _seen(case, inputs, torch.where(_row(inputs) < case["nseq"] - 1, inputs["s"].amax(1), 0.0))


def pinned_to_infinity(case, inputs):
    """Ghost rows are pinned to +inf: their weights are 0, but the pin is not a finite number.

    The docstring asks for a finite number, and the kernel may go on computing with it. Choose one.
    """
    return _pinned(case, inputs, inputs["s"].amax(1), _INF)


def pinned_below_zero(case, inputs):
    """Every negative maximum becomes 0, also that of a live row.

    A live row may hold negative scores only. What tells a ghost row from such a row?
    """
    return _seen(case, inputs, inputs["s"].amax(1).clamp(min=0.0))


def clamped_at_minus_100(case, inputs):
    """A maximum below -100 is raised to -100, also that of a live row.

    Live rows may lie lower than that. What tells a ghost row from such a row?
    """
    return _seen(case, inputs, inputs["s"].amax(1).clamp(min=-100.0))


def hidden_scores_zeroed(case, inputs):
    """Hidden scores count as 0 in the maximum, which beats the negative scores of a live row.

    Only a row that is hidden throughout lacks a maximum. What should a single hidden score do to the others?
    """
    return _seen(case, inputs, torch.where(inputs["s"] == -_INF, 0.0, inputs["s"]).amax(1))


def column_maximum(case, inputs):
    """The maximum is taken down the columns instead of along the rows.

    s is (BLOCK_M, BLOCK_N) and m is (BLOCK_M,). Which axis has to go?
    """
    s = inputs["s"]
    if case["block_m"] != s.shape[1]:  # two tiles that do not fit: the kernel has no output, which is +inf throughout
        seen = _pinned(case, inputs, s.amax(1))
        return {name: torch.full_like(x.double(), _INF) for name, x in seen.items()}
    m = s.reshape(-1, case["block_m"], s.shape[1]).amax(1).flatten()
    return _pinned(case, inputs, m)


def maximum_of_the_tile(case, inputs):
    """All rows of a tile get one maximum, the largest of the tile: rows far below it vanish in exp.

    Each row has a maximum of its own. Over which axes is it taken here?
    """
    s = inputs["s"]
    m = s.reshape(-1, case["block_m"] * s.shape[1]).amax(1).repeat_interleave(case["block_m"])
    return _pinned(case, inputs, m)


def largest_size(case, inputs):
    """The maximum is taken over the sizes of the scores, without their signs.

    It is right as long as all scores are positive. What is the maximum of -3 and -5?
    """
    return _pinned(case, inputs, inputs["s"].abs().amax(1))


def row_sum(case, inputs):
    """The scores of a row are added up, where the largest of them is wanted.

    m is taken off every score, so that exp stays at 1 and below. Which number of a row does that?
    """
    return _pinned(case, inputs, inputs["s"].sum(1))


def minimum_taken(case, inputs):
    """The row's smallest score is taken, not the largest.

    Subtracting the maximum keeps exp at 1 and below. What happens to exp after the minimum is subtracted?
    """
    return _pinned(case, inputs, inputs["s"].amin(1))


def place_of_the_maximum(case, inputs):
    """m holds the column where the maximum is, and not the maximum.

    Triton has one function for how large it is and another for where it is. Which of them is called?
    """
    return _pinned(case, inputs, inputs["s"].argmax(1).double())


MISTAKES = (
    no_pin,
    one_ghost_unpinned,
    tile_local_rows,
    live_rows_pinned,
    last_row_pinned,
    pinned_to_infinity,
    pinned_below_zero,
    clamped_at_minus_100,
    hidden_scores_zeroed,
    column_maximum,
    maximum_of_the_tile,
    largest_size,
    row_sum,
    minimum_taken,
    place_of_the_maximum,
)

# All of them leave ghost rows without a finite m, and what comes after cannot tell -inf from NaN.
ALIASES = {"looks_for_nan": "no_pin", "pinned_to_minus_inf": "no_pin", "pinned_by_product": "no_pin"}
