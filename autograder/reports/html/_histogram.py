"""Bars of a histogram: how many lie in each tenth, ready to be drawn as a small SVG."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

BINS = 10


@dataclass(frozen=True, slots=True)
class Bar:
    """One bin: ``label`` in percent, ``height`` from 0 to 1 of the tallest."""

    label: str
    count: int
    height: float


@dataclass(frozen=True, slots=True)
class Histogram:
    bars: tuple[Bar, ...]

    @property
    def words(self) -> str:
        """What the picture shows, for those who do not see it."""
        filled = [f"{bar.label}: {bar.count}" for bar in self.bars if bar.count]
        return "; ".join(filled) if filled else "nobody"


def histogram(shares: Iterable[float]) -> Histogram:
    """Shares of the points, from 0 to 1, in tenths; full marks and more are in the last."""
    counts = [0] * BINS
    for share in shares:
        counts[min(BINS - 1, max(0, int(share * BINS + 1e-9)))] += 1
    tallest = max(counts)
    return Histogram(
        tuple(
            Bar(f"{100 * i // BINS}–{100 * (i + 1) // BINS}%", count, count / tallest if tallest else 0.0)
            for i, count in enumerate(counts)
        )
    )
