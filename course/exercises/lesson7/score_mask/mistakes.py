"""What known wrong mask_scores kernels give back, for naming the mistake in one that fails."""

import torch

_INF = float("inf")


class _Tiles:
    """The indices of a padded score matrix, as columns of rows and rows of columns that broadcast."""

    def __init__(self, case, inputs):
        self.s = inputs["s"]
        self.nseq, self.causal = case["nseq"], case["causal"]
        self.row = torch.arange(self.s.shape[0])[:, None]
        self.column = torch.arange(self.s.shape[1])[None, :]
        self.place_m, self.place_n = self.row % case["block_m"], self.column % case["block_n"]  # inside the tile

    def query_of_column(self):
        """offs_m along the columns of a tile."""
        return self.row - self.place_m + self.place_n

    def key_of_row(self):
        """offs_n along the rows of a tile."""
        return self.column - self.place_n + self.place_m

    def real(self):
        return (self.row < self.nseq) & (self.column < self.nseq)

    def past(self):
        """What the causal rule leaves, if it is asked for."""
        return (self.column <= self.row) | (not self.causal)

    def keep(self):
        return self.real() & self.past()

    def filled(self, keep, value=-_INF):
        return {"s": torch.where(keep, self.s, value)}


def ghosts_forgotten(case, inputs):
    """Ghost rows and ghost columns keep their scores: at most the causal rule takes effect.

    Look at how NSEQ enters the mask, and at the parentheses around each comparison.
    """
    tiles = _Tiles(case, inputs)
    return tiles.filled(tiles.past() & (tiles.row >= 0))


def ghost_columns_kept(case, inputs):
    """Ghost rows are masked and ghost columns are not: keys that do not exist keep a score.

    A score is real if its query and its key are. Which of the two does the mask ask about?
    """
    tiles = _Tiles(case, inputs)
    return tiles.filled((tiles.row < tiles.nseq) & tiles.past())


def ghost_rows_kept(case, inputs):
    """Ghost columns are masked and ghost rows are not: queries that do not exist keep their scores.

    A score is real if its query and its key are. Which of the two does the mask ask about?
    """
    tiles = _Tiles(case, inputs)
    return tiles.filled((tiles.column < tiles.nseq) & tiles.past())


def one_ghost_too_many(case, inputs):
    """The first ghost row and the first ghost column, at index NSEQ, pass for real.

    Indices start at 0. What is the last real one, and does the comparison stop there?
    """
    tiles = _Tiles(case, inputs)
    return tiles.filled((tiles.row <= tiles.nseq) & (tiles.column <= tiles.nseq) & tiles.past())


def one_ghost_column_too_many(case, inputs):
    """The first ghost column, at index NSEQ, passes for real.

    Indices start at 0. What is the last real key, and does the comparison of the columns stop there?
    """
    tiles = _Tiles(case, inputs)
    return tiles.filled((tiles.row < tiles.nseq) & (tiles.column <= tiles.nseq) & tiles.past())


def one_ghost_row_too_many(case, inputs):
    """The first ghost row, at index NSEQ, passes for real.

    Indices start at 0. What is the last real query, and does the comparison of the rows stop there?
    """
    tiles = _Tiles(case, inputs)
    return tiles.filled((tiles.row <= tiles.nseq) & (tiles.column < tiles.nseq) & tiles.past())


def or_for_and(case, inputs):
    """A score stays if its row or its column is real, so ghosts survive wherever one of the two is.

    Look at how the row's condition and the column's are joined. What has to hold for a score to count?
    """
    tiles = _Tiles(case, inputs)
    return tiles.filled(((tiles.row < tiles.nseq) | (tiles.column < tiles.nseq)) & tiles.past())


def precedence_of_and(case, inputs):
    """Nearly everything is masked, as if NSEQ had been joined with a truth value before it was compared.

    In Python & binds tighter than <. Check the parentheses around each comparison in the mask.
    """
    tiles = _Tiles(case, inputs)
    limit = torch.where(tiles.column < tiles.nseq, tiles.nseq & 1, 0)
    return tiles.filled((tiles.row < limit) & tiles.past())


def precedence_of_and_in_a_chain(case, inputs):
    """A comparison runs through & as one chain, and hides hardly any ghost.

    In Python & binds tighter than <. Check the parentheses around each comparison in the mask.
    """
    tiles = _Tiles(case, inputs)
    joined = (tiles.row < tiles.nseq).int() & tiles.column
    return tiles.filled((joined < tiles.nseq) & tiles.past())


def mask_upside_down(case, inputs):
    """The mask works the wrong way round: scores that count become -inf, and those that must not count stay.

    tl.where takes its second argument where the condition is true. Read the call with that in mind.
    """
    tiles = _Tiles(case, inputs)
    return tiles.filled(~tiles.keep())


def tile_local_ghosts(case, inputs):
    """Ghosts are counted from the start of each tile: every tile is masked as if it were the first.

    offs_m and offs_n hold the indices in the whole sequence. Check what is compared with NSEQ.
    """
    tiles = _Tiles(case, inputs)
    return tiles.filled((tiles.place_m < tiles.nseq) & (tiles.place_n < tiles.nseq) & tiles.past())


def causal_forgotten(case, inputs):
    """The future stays visible: CAUSAL makes no difference.

    Follow CAUSAL through the function. Which keys may query i see when it is set?
    """
    tiles = _Tiles(case, inputs)
    return tiles.filled(tiles.real())


def causal_always(case, inputs):
    """The future is masked although CAUSAL is not set.

    Only a causal call hides later keys. Look for what the causal rule depends on.
    """
    tiles = _Tiles(case, inputs)
    return tiles.filled(tiles.real() & (tiles.column <= tiles.row))


def causal_replaces_ghosts(case, inputs):
    """With CAUSAL the ghosts come back: the causal mask takes the place of the ghost mask.

    Both rules hold at once. Does the first mask still count after the causal branch?
    """
    tiles = _Tiles(case, inputs)
    return tiles.filled(tiles.column <= tiles.row if tiles.causal else tiles.real())


def causal_reversed(case, inputs):
    """The causal rule is the wrong way round: a query sees the keys after it and not those before it.

    Try it with query 0 on paper: which keys are left to it?
    """
    tiles = _Tiles(case, inputs)
    return tiles.filled(tiles.real() & ((tiles.column >= tiles.row) | (not tiles.causal)))


def causal_strict(case, inputs):
    """The causal rule hides the diagonal too: a query does not see its own key, and query 0 sees nothing.

    Query i may see the keys 0 to i. Check the comparison where the two indices are equal.
    """
    tiles = _Tiles(case, inputs)
    return tiles.filled(tiles.real() & ((tiles.column < tiles.row) | (not tiles.causal)))


def causal_off_by_one(case, inputs):
    """The causal rule lets each query see one key of the future.

    Query i may see the keys 0 to i. What is the last key that query 0 sees here?
    """
    tiles = _Tiles(case, inputs)
    return tiles.filled(tiles.real() & ((tiles.column <= tiles.row + 1) | (not tiles.causal)))


def tile_local_causal(case, inputs):
    """The causal rule compares places inside the tile, which start at 0 again in every tile.

    offs_m and offs_n hold the indices in the whole sequence. Check what the causal rule compares.
    """
    tiles = _Tiles(case, inputs)
    return tiles.filled(tiles.real() & ((tiles.place_n <= tiles.place_m) | (not tiles.causal)))


def rows_and_columns_swapped(case, inputs):
    """The query index runs along the columns of the tile and the key index along its rows.

    s is (BLOCK_M, BLOCK_N). Which of the two vectors needs [:, None] to run along the rows?
    """
    tiles = _Tiles(case, inputs)
    query, key = tiles.query_of_column(), tiles.key_of_row()
    keep = (query < tiles.nseq) & (key < tiles.nseq) & ((key <= query) | (not tiles.causal))
    return _misfit_or(case, tiles, keep)


def _misfit_or(case, tiles, keep):
    """Scores masked by indices along the wrong axis: tiles that are not square do not fit."""
    return tiles.filled(keep) if case["block_m"] == case["block_n"] else "Two tiles of different shapes meet here"


def filled_with_zero(case, inputs):
    """Scores that must not count are set to 0.

    exp(0) is 1, so they still take weight. Which score has weight 0 after exp?
    """
    tiles = _Tiles(case, inputs)
    return tiles.filled(tiles.keep(), 0.0)


def filled_with_inf(case, inputs):
    """Scores that must not count are set to +inf, the largest score there is.

    The softmax gives the largest scores all the weight. Which score is below all others?
    """
    tiles = _Tiles(case, inputs)
    return tiles.filled(tiles.keep(), _INF)


def rows_by_key_index(case, inputs):
    """Ghost rows are told by the key index, offs_n, and not by the query index.

    offs_m counts the rows of the tile and offs_n its columns. Which of them does the condition on the rows ask about?
    """
    tiles = _Tiles(case, inputs)
    return _misfit_or(case, tiles, (tiles.key_of_row() < tiles.nseq) & (tiles.column < tiles.nseq) & tiles.past())


def columns_by_query_index(case, inputs):
    """Ghost columns are told by the query index, offs_m, and not by the key index.

    offs_m counts the rows of the tile and offs_n its columns. Which of them does the condition on the columns ask about?
    """
    tiles = _Tiles(case, inputs)
    return _misfit_or(case, tiles, (tiles.row < tiles.nseq) & (tiles.query_of_column() < tiles.nseq) & tiles.past())


def finite_fill(case, inputs):
    """Scores that must not count are set to a large negative number instead of -inf.

    In a row without any visible key all of them would count alike. What value never counts?
    """
    tiles = _Tiles(case, inputs)
    return tiles.filled(tiles.keep(), -1e9)


def _other_fill(name, value):
    """finite_fill with another number."""

    def model(case, inputs):
        tiles = _Tiles(case, inputs)
        return tiles.filled(tiles.keep(), value)

    model.__name__ = f"finite_fill_{name}"
    model.__doc__ = finite_fill.__doc__
    return model


_OTHER_FILLS = (
    *(_other_fill(f"1e{power}", -(10.0**power)) for power in (4, 5, 6, 7, 8, 10, 20, 30)),
    _other_fill("lowest", torch.finfo(torch.float32).min),
)


def masked_scores_shifted(case, inputs):
    """Scores that must not count are lowered by a large number, and not replaced.

    A score that is large enough comes back from that. What should be left of its old value?
    """
    tiles = _Tiles(case, inputs)
    return {"s": torch.where(tiles.keep(), tiles.s, tiles.s - 1e6)}


def zero_times_infinity(case, inputs):
    """Scores that count become NaN: the mask seems to be multiplied by -inf, and 0 times -inf is NaN.

    Infinity does not survive arithmetic with 0. Choose between two values instead of multiplying.
    """
    tiles = _Tiles(case, inputs)
    return {"s": torch.where(tiles.keep(), float("nan"), -_INF).double()}


MISTAKES = (
    ghosts_forgotten,
    ghost_columns_kept,
    ghost_rows_kept,
    one_ghost_too_many,
    one_ghost_column_too_many,
    one_ghost_row_too_many,
    or_for_and,
    precedence_of_and,
    precedence_of_and_in_a_chain,
    mask_upside_down,
    tile_local_ghosts,
    causal_forgotten,
    causal_always,
    causal_replaces_ghosts,
    causal_reversed,
    causal_strict,
    causal_off_by_one,
    tile_local_causal,
    rows_and_columns_swapped,
    rows_by_key_index,
    columns_by_query_index,
    filled_with_zero,
    filled_with_inf,
    finite_fill,
    *_OTHER_FILLS,
    masked_scores_shifted,
    zero_times_infinity,
)

# The same mistake with another number in it, or in another expression.
ALIASES = {
    "python_and": "tile_as_one_truth_value",
    "precedence_of_and_in_a_chain": "precedence_of_and",
    "one_ghost_column_too_many": "one_ghost_too_many",
    "one_ghost_row_too_many": "one_ghost_too_many",
    **{model.__name__: "finite_fill" for model in _OTHER_FILLS},
}

# The words hold for all that asks a tile for one truth value: `and`, `or`, `if`, `a if t else b`, `while`.
SIGNS = (
    (
        "tile_as_one_truth_value",
        "compile-error",
        r"\bsingle truth value",
        "A tile of truth values stands where Python takes a single one, as beside `and` and `or` and after `if`.\n\n"
        "What each element decides for itself is joined with & and |, with parentheses around each comparison, and acted "
        "on by tl.where.",
    ),
)
