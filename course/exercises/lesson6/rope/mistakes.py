"""What wrong RoPE kernels store: a torch model of each known mistake, with what to tell the student about it."""

import torch

NAN = float("nan")
UNWRITTEN = torch.finfo(torch.float64).min  # what the grader shows for elements that were never written


def _pairs(case, inputs, interleaved=None):
    """The two columns of every pair, (tokens, heads, head // 2) each."""
    x = inputs["x"]
    half = case["head"] // 2
    if case["interleaved"] if interleaved is None else interleaved:
        return x[..., 0::2], x[..., 1::2]
    return x[..., :half], x[..., half:]


def _rope(case, inputs, *, interleaved=None, tables=None, turn=None):
    """The kernel, with other pairs, other rows of the tables or another turn of (a, b) by (cos, sin)."""
    interleaved = case["interleaved"] if interleaved is None else interleaved
    cos, sin = tables or _tables(inputs, inputs["positions"])
    a, b = (turn or _turn)(*_pairs(case, inputs, interleaved), cos[:, None, :], sin[:, None, :])
    return {"y": torch.stack([a, b], -1).flatten(-2) if interleaved else torch.cat([a, b], -1)}


def _turn(a, b, cos, sin):
    return a * cos - b * sin, b * cos + a * sin


def _tables(inputs, rows):
    return inputs["cos"][rows], inputs["sin"][rows]


def _flat_tables(case, inputs, step):
    """Cosines and sines if rows of the tables are taken to be ``step`` long: values, or words of what stops a kernel."""
    at = inputs["positions"][:, None] * step + torch.arange(case["head"] // 2)
    behind = at >= inputs["cos"].numel()
    if bool(behind.any()) and case["device"] == "cpu":
        return r"loads outside (?:cos|sin)\b"
    flat = (inputs[name].flatten()[at.clamp(max=inputs[name].numel() - 1)] for name in ("cos", "sin"))
    return tuple(torch.where(behind, NAN, table) for table in flat)


def pairings_swapped(case, inputs):
    """The two ways to pair have changed places: with INTERLEAVED, columns half a head apart are turned together.

    Which columns does the docstring name for each of the two?
    """
    return _rope(case, inputs, interleaved=not case["interleaved"])


def always_half_split(case, inputs):
    """Pairs are columns half a head apart, whatever INTERLEAVED says.

    Look for what depends on INTERLEAVED.
    """
    return _rope(case, inputs, interleaved=False)


def always_interleaved(case, inputs):
    """Pairs are neighbouring columns, whatever INTERLEAVED says.

    Look for what depends on INTERLEAVED.
    """
    return _rope(case, inputs, interleaved=True)


def turned_backwards(case, inputs):
    """Pairs are turned the other way, by minus the angle.

    The docstring of the file says which of the two formulas has the minus.
    """
    return _rope(case, inputs, turn=lambda a, b, cos, sin: (a * cos + b * sin, b * cos - a * sin))


def both_signs_minus(case, inputs):
    """The second column of a pair has the wrong sign before its sine: the pair is not turned, and its length changes.

    Compare the two formulas: how do their signs differ?
    """
    return _rope(case, inputs, turn=lambda a, b, cos, sin: (a * cos - b * sin, b * cos - a * sin))


def both_signs_plus(case, inputs):
    """The first column of a pair has the wrong sign before its sine: the pair is not turned, and its length changes.

    Compare the two formulas: how do their signs differ?
    """
    return _rope(case, inputs, turn=lambda a, b, cos, sin: (a * cos + b * sin, b * cos + a * sin))


def new_first_used(case, inputs):
    """The second column of a pair is worked out from the new first one, not from the one that was loaded.

    What does the name of the first column hold by the time the second is worked out?
    """

    def turn(a, b, cos, sin):
        a = a * cos - b * sin
        return a, b * cos + a * sin

    return _rope(case, inputs, turn=turn)


def sine_and_cosine_swapped(case, inputs):
    """Sine and cosine have changed places.

    At position 0 nothing is to turn: what are the cosine and the sine of 0, and what does the formula give with them?
    """
    return _rope(case, inputs, tables=_tables(inputs, inputs["positions"])[::-1])


def place_in_the_batch(case, inputs):
    """The angles are those of a token's place in the batch, not of its position.

    Look at which number picks the row of the tables, and what positions_ptr is for.
    """
    return _rope(case, inputs, tables=_tables(inputs, torch.arange(case["tokens"])))


def positions_counted_on(case, inputs):
    """The first token's position is counted on from token to token, whatever positions holds.

    A batch mixes sequences. Look at the address that the position is loaded from.
    """
    rows = inputs["positions"][0] + torch.arange(case["tokens"])
    if int(rows[-1]) >= len(inputs["cos"]):
        return {}
    return _rope(case, inputs, tables=_tables(inputs, rows))


def first_position_for_all(case, inputs):
    """Every token is turned by the angles of the first one's position.

    Look at the address that the position is loaded from.
    """
    return _rope(case, inputs, tables=_tables(inputs, inputs["positions"][:1].expand(case["tokens"])))


def table_rows_too_long(case, inputs):
    """Rows of the tables are taken to be twice as long as they are, HEAD and not HEAD // 2.

    How many angles does a position have? Work out the address of row 1 of a table.
    """
    tables = _flat_tables(case, inputs, case["head"])
    return tables if isinstance(tables, str) else _rope(case, inputs, tables=tables)


def table_rows_forgotten(case, inputs):
    """Each row of the tables begins one element after the one before: the position is not multiplied by a row's length.

    How many angles does a position have? Work out the address of row 1 of a table.
    """
    return _rope(case, inputs, tables=_flat_tables(case, inputs, 1))


def tokens_a_tile_apart(case, inputs):
    """Tokens are taken to lie BLOCK_H heads apart, where they lie HEADS apart: from the second on, others are turned.

    Work out the address of token 1, head 0 for 3 heads in a tile of 4.
    """
    return _rope(case, inputs) if case["heads"] == case["block_h"] or case["tokens"] == 1 else _OUTSIDE


_OUTSIDE = r"(?:loads outside x\b|(?:stores outside|wrote past the end of) y\b)"


def ghost_heads_unmasked(case, inputs):
    """Ghost heads are loaded or stored: behind the last head of a token lies the first of the next.

    With 3 heads in a tile of 4, whose head is the fourth? Look at the masks of the loads and the stores.
    """
    return _rope(case, inputs) if case["heads"] == case["block_h"] else _OUTSIDE


def ghost_heads_when_interleaved(case, inputs):
    """With interleaved pairs, ghost heads are loaded and stored; with half-split ones they are not.

    The way to pair decides about columns alone. What makes the heads' mask depend on it?
    """
    return ghost_heads_unmasked(case, inputs) if case["interleaved"] else _rope(case, inputs)


MISTAKES = (
    pairings_swapped,
    always_half_split,
    always_interleaved,
    turned_backwards,
    both_signs_minus,
    both_signs_plus,
    new_first_used,
    sine_and_cosine_swapped,
    place_in_the_batch,
    positions_counted_on,
    first_position_for_all,
    table_rows_too_long,
    table_rows_forgotten,
    tokens_a_tile_apart,
    ghost_heads_unmasked,
    ghost_heads_when_interleaved,
)

# What outputs cannot tell: how often something is read.
SIGNS = (
    (
        "done_by_every_program",
        "fail",
        r"\belements of x are loaded in all|\bone program stores",
        "A program does more than its own part, as where every program does the work of all.\n\n"
        "Which elements does it own, and where does its number say so?",
    ),
)
