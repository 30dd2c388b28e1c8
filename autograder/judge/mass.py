"""Which keys an attention's output is made of, and what is certain about it in one sentence.

The values of such a probe are one-hot by chunk of keys: column c of the output is the sum of a query's weights on the
keys of chunk c, as far as their values arrive.  Softmax weights add up to 1, and keys that a query must not see have 0.
The columns repeat with an odd `period`: a kernel that treats columns differently shows in copies that differ, and of
its weights nothing can be said.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
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


def period(chunks: int) -> int:
    """After how many columns the values of a probe repeat: an odd number, of which one at least belongs to no chunk."""
    return chunks + 1 + chunks % 2


def mass_clue(view: MassView, probe: Probe) -> tuple[int, str, Mapping[str, Any]] | None:
    """How much it tells, the sentence, and the weights by query tile and chunk; None where they are right."""
    case = probe.check.case
    got, right = probe.observed.get(view.output), probe.right[view.output].double()
    chunk, keys, rows = case[view.keys], case[view.length], case[view.rows]
    chunks = -(-keys // chunk)
    width = period(chunks)
    if got is None or got.shape != right.shape or got.ndim != 2 or got.shape[1] < 2 * width:
        return None
    got = got.double()
    if not bool(torch.isfinite(got).all()) or bool((got == UNWRITTEN).any()) or float(got.min()) < -_NONE:
        return None
    copies = [got[:, first : first + width] for first in range(0, got.shape[1] - width + 1, width)]
    if any(float((copy - copies[0]).abs().max()) > _ALIKE for copy in copies):
        return None
    if bool((copies[0][:, chunks:] > _NONE).any()):
        return None  # these are no weights: other values than the probe's have come in
    got, right = copies[0][:, :chunks], right[:, :chunks]
    if float((got - right).abs().max()) < _SEEN:
        return None
    told = _sentence(view, got, right, _Chunks(chunk, keys, view.of), rows)
    tiles = [(first, min(first + rows, len(got)) - 1) for first in range(0, len(got), rows)]
    table = {
        "rows": [list(tile) for tile in tiles],
        "columns": [[c * chunk, min(keys, (c + 1) * chunk) - 1] for c in range(chunks)],
        "got": _means(got, tiles),
        "expected": _means(right, tiles),
        "of": view.of,
    }
    return *told, table


@dataclass(frozen=True, slots=True)
class _Chunks:
    """How keys lie in chunks of ``size``, and what one is called."""

    size: int
    keys: int
    of: str = "chunk"

    @property
    def whole(self) -> int:
        return self.keys // self.size

    def named(self, chunks: Sequence[int]) -> str:
        """``keys 32-63 (chunk 1)``."""
        texts = []
        for first, last in spans(chunks):
            start, end = first * self.size, min(self.keys, (last + 1) * self.size) - 1
            number = f"{self.of} {first}" if first == last else f"{self.of}s {first}-{last}"
            texts.append(f"key {start} ({number})" if start == end else f"keys {start}-{end} ({number})")
        return " and ".join(texts)


def _sentence(view: MassView, got: torch.Tensor, right: torch.Tensor, chunks: _Chunks, rows: int) -> tuple[int, str]:
    if view.hidden and bool(((right == 0) & (got > _SEEN)).any()):
        return PLACE, f"Queries give weight to {view.hidden}."
    every = range(got.shape[1])
    # Of values that come in, something is left, however small: only those that do not give 0 itself.
    silent = [c for c in every if not bool(got[:, c].any()) and float(right[:, c].max()) > _SEEN]
    heard = [c for c in every if c not in silent]
    if silent and heard and float(got.max()) > _SEEN:
        if len(heard) == 1 and len(silent) > 1:
            return PLACE, f"Only {chunks.named(heard)} count: the values of all others reach no query."
        return PLACE, f"{_capital(chunks.named(silent))} count for nothing: their values reach no query."
    if (place := _unseen(got, right, chunks, rows)) is not None:
        return PLACE, place
    if (equal := _alike(got, right, chunks)) is not None:
        return PLACE, equal
    total, due = got.sum(1), right.sum(1)
    wrong = (total - due).abs() > _SEEN
    if bool(wrong.any()):
        low, high = float(total[wrong].min()), float(total[wrong].max())
        size = f"{low:.3g}" if high - low <= 0.01 * abs(high) else f"between {low:.3g} and {high:.3g}"
        numbers = [int(row) for row in wrong.nonzero().flatten()]
        some = f"{'query' if len(numbers) == 1 else 'queries'} {span_text(spans(numbers))}"
        whose = "a query" if bool(wrong.all()) else some
        return SUM, f"The weights of {whose} add up to {size} on the real keys, not to 1."
    return KEYS, "The weights of each query add up to 1, as they should, but do not lie on the right keys."


def _unseen(got: torch.Tensor, right: torch.Tensor, chunks: _Chunks, rows: int) -> str | None:
    """A query tile that gets nothing of a chunk, all of which each of its queries should see."""
    found = [
        (tile, c)
        for tile, first in enumerate(range(0, len(got), rows))
        for c in range(got.shape[1])
        if not bool(got[first : first + rows, c].any())
        and float(got[first : first + rows].max()) > _SEEN
        and float(right[first : first + rows, c].min()) > _SEEN
    ]
    if not found:
        return None
    tile, c = found[0]
    return f"{_capital(chunks.named([c]))} count for nothing in query tile {tile}" + (
        ", and others do so in theirs." if len(found) > 1 else "."
    )


def _alike(got: torch.Tensor, right: torch.Tensor, chunks: _Chunks) -> str | None:
    """Chunks that count the same for each query, where they should not."""
    every = f"All whole {chunks.of}s of keys"
    for first, which in ((0, every), (1, f"{every} but the first")):
        some, due = got[:, first : chunks.whole], right[:, first : chunks.whole]
        if some.shape[1] < 2 or float(some.max()) < _SEEN:
            continue
        if float((some.amax(1) - some.amin(1)).max()) < _ALIKE and float((due.amax(1) - due.amin(1)).max()) > _SEEN:
            return f"{which} count the same for a query, whatever the keys are."
    return None


def _means(weights: torch.Tensor, tiles: list[tuple[int, int]]) -> list[list[float]]:
    return [[round(float(x), 4) for x in weights[first : last + 1].mean(0)] for first, last in tiles]


def _capital(text: str) -> str:
    return text[:1].upper() + text[1:]
