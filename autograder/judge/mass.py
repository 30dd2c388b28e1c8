"""Which keys an attention's output is made of, and what is certain about it in one sentence.

The values of such a probe are one-hot by chunk of keys: column c of the output is the sum of a query's weights on the
keys of chunk c, as far as their values arrive.  Softmax weights add up to 1, and keys that a query must not see have 0.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import torch

from autograder.judge.diagnosis import UNWRITTEN, Probe
from autograder.judge.region import span_text, spans
from autograder.probes import MassView

# Weights that differ by less are not worth a word, and smaller ones than that are none.
_SEEN = 1e-3
_NONE = 1e-6
_ALIKE = 1e-5

# How much a sentence tells, from most to least.
PLACE, SUM, KEYS = 0, 2, 4


def mass_clue(view: MassView, probe: Probe) -> tuple[int, str, Mapping[str, Any]] | None:
    """How much it tells, the sentence, and the weights by query tile and chunk; None where they are right."""
    case = probe.check.case
    got, right = probe.observed.get(view.output), probe.right[view.output].double()
    chunk, keys, rows = case[view.keys], case[view.length], case[view.rows]
    chunks = -(-keys // chunk)
    if got is None or got.shape != right.shape or got.ndim != 2 or chunks > got.shape[1]:
        return None
    got, right = got.double()[:, :chunks], right[:, :chunks]
    if not bool(torch.isfinite(got).all()) or bool((got == UNWRITTEN).any()):
        return None
    if float((got - right).abs().max()) < _SEEN:
        return None
    told = _sentence(view, got, right, [_keys(c, chunk, keys) for c in range(chunks)], rows, keys // chunk)
    tiles = [(first, min(first + rows, len(got)) - 1) for first in range(0, len(got), rows)]
    table = {
        "rows": [list(tile) for tile in tiles],
        "columns": [[c * chunk, min(keys, (c + 1) * chunk) - 1] for c in range(chunks)],
        "got": _means(got, tiles),
        "expected": _means(right, tiles),
    }
    return *told, table


def _sentence(
    view: MassView, got: torch.Tensor, right: torch.Tensor, names: list[str], rows: int, whole: int
) -> tuple[int, str]:
    future = (right == 0) & (got > _SEEN)
    if view.hidden and bool(future.any()):
        return PLACE, f"Queries give weight to {view.hidden}."
    silent = [c for c in range(len(names)) if float(got[:, c].abs().max()) < _NONE and float(right[:, c].max()) > _SEEN]
    heard = [c for c in range(len(names)) if c not in silent]
    if silent and heard:
        if len(heard) == 1 and len(silent) > 1:
            return PLACE, f"Only {names[heard[0]]} count: the values of all others reach no query."
        said = names[silent[0]] if len(silent) == 1 else f"{len(silent)} chunks of keys ({span_text(spans(silent))})"
        return PLACE, f"{_capital(said)} count for nothing: their values reach no query."
    if (place := _unseen(got, right, names, rows)) is not None:
        return PLACE, place
    if (equal := _alike(got, right, whole)) is not None:
        return PLACE, equal
    total, due = got.sum(1), right.sum(1)
    wrong = (total - due).abs() > _SEEN
    if bool(wrong.any()):
        low, high = float(total[wrong].min()), float(total[wrong].max())
        size = f"{low:.3g}" if high - low < 0.01 * abs(high) else f"between {low:.3g} and {high:.3g}"
        numbers = [int(row) for row in wrong.nonzero().flatten()]
        whose = (
            "a query"
            if bool(wrong.all())
            else f"{'query' if len(numbers) == 1 else 'queries'} {span_text(spans(numbers))}"
        )
        return SUM, f"The weights of {whose} add up to {size} on the real keys, not to 1."
    return KEYS, "The weights of each query add up to 1, as they should, but do not lie on the right keys."


def _unseen(got: torch.Tensor, right: torch.Tensor, names: list[str], rows: int) -> str | None:
    """A query tile that gets nothing of a chunk, all of which each of its queries should see."""
    found = [
        (tile, c)
        for tile, first in enumerate(range(0, len(got), rows))
        for c in range(len(names))
        if float(got[first : first + rows, c].abs().max()) < _NONE
        and float(right[first : first + rows, c].min()) > _SEEN
    ]
    if not found:
        return None
    tile, c = found[0]
    return f"{_capital(names[c])} count for nothing in query tile {tile}" + (
        ", and others do so in theirs." if len(found) > 1 else "."
    )


def _alike(got: torch.Tensor, right: torch.Tensor, whole: int) -> str | None:
    """Chunks that count the same for each query, where they should not."""
    for first, which in ((0, "All whole chunks of keys"), (1, "All whole chunks of keys but the first")):
        some, due = got[:, first:whole], right[:, first:whole]
        if some.shape[1] < 2 or float(some.abs().max()) < _SEEN:
            continue
        if float((some.amax(1) - some.amin(1)).max()) < _ALIKE and float((due.amax(1) - due.amin(1)).max()) > _SEEN:
            return f"{which} count the same for a query, whatever the keys are."
    return None


def _keys(number: int, chunk: int, keys: int) -> str:
    first, last = number * chunk, min(keys, (number + 1) * chunk) - 1
    return f"keys {first}-{last} (chunk {number})" if last > first else f"key {first} (chunk {number})"


def _means(weights: torch.Tensor, tiles: list[tuple[int, int]]) -> list[list[float]]:
    return [[round(float(x), 4) for x in weights[first : last + 1].mean(0)] for first, last in tiles]


def _capital(text: str) -> str:
    return text[:1].upper() + text[1:]
