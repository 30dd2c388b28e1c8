"""Times over sizes, both on logarithmic scales: as text, or with matplotlib as SVG or PNG."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from autograder.errors import EnvironmentProblem

Curves = Mapping[str, Sequence[tuple[float, float]]]
"""By name: (length, milliseconds), in the order of lengths."""

_ROWS = 12
_MARGIN = 10


def text_plot(curves: Curves, length: str, width: int) -> Iterator[str]:
    """Lines of a plot with a letter for each curve; where two meet, the one that comes first is seen."""
    points = [point for curve in curves.values() for point in curve if min(point) > 0]
    lengths = sorted({x for x, _ in points})
    if len(lengths) < 2:
        return
    low, high = (f(math.log10(y) for _, y in points) for f in (min, max))
    span = max(high - low, 1e-9)
    columns = width - _MARGIN - 2
    grid = [[" "] * columns for _ in range(_ROWS)]
    letters = dict(zip(curves, "*ABCDEFGHIJKLMNOPQRSTUVWXYZ", strict=False))
    first, last = math.log2(lengths[0]), math.log2(lengths[-1])

    def column(x: float) -> int:
        return round((math.log2(x) - first) / (last - first) * (columns - 1))

    for name in reversed(list(curves)):
        for x, y in curves[name]:
            if y > 0:
                row = _ROWS - 1 - round((math.log10(y) - low) / span * (_ROWS - 1))
                grid[row][column(x)] = letters[name]
    yield ""
    for number, row_of in enumerate(grid):
        value = 10 ** (high - span * number / (_ROWS - 1))
        label = f"{value:.3g} ms" if number in (0, _ROWS // 2, _ROWS - 1) else ""
        yield f"{label:>{_MARGIN}} |{''.join(row_of).rstrip()}"
    yield f"{'':>{_MARGIN}} +{'-' * columns}"
    axis = [" "] * (columns + 8)
    for x in lengths:
        text, start = f"{x:g}", column(x)
        start = min(start, columns - len(text))
        if all(axis[place] == " " for place in range(max(0, start - 1), start + len(text) + 1)):
            axis[start : start + len(text)] = text
    yield f"{length[-_MARGIN:]:>{_MARGIN}}  {''.join(axis).rstrip()}"
    yield "  ".join(f"{letter} {name}" for name, letter in letters.items())


def write_plot(path: Path, titled: Sequence[tuple[str, Curves]], length: str, heading: str) -> None:
    """Draw one panel for each of ``titled`` into ``path``, an .svg or .png.

    Raises:
        EnvironmentProblem: matplotlib is not installed.
        OSError: the file cannot be written.
    """
    try:
        from matplotlib.figure import Figure
    except ImportError:
        raise EnvironmentProblem(
            "A picture needs matplotlib, which is not installed: pip install matplotlib. "
            "Without --plot, the plot is drawn as text."
        ) from None
    figure = Figure(figsize=(6.0 * len(titled), 4.2), layout="constrained")
    figure.suptitle(heading)
    markers = "osD^vPX*"
    for number, (title, curves) in enumerate(titled):
        axes = figure.add_subplot(1, len(titled), number + 1)
        for place, (name, points) in enumerate(curves.items()):
            axes.plot(
                [x for x, _ in points],
                [y for _, y in points],
                marker=markers[place % len(markers)],
                linewidth=2.5 if place == 0 else 1.2,
                label=name,
            )
        axes.set_xscale("log", base=2)
        axes.set_yscale("log")
        axes.set_title(title)
        axes.set_xlabel(length)
        axes.set_ylabel("ms")
        axes.grid(True, which="both", alpha=0.3)
        axes.legend()
    figure.savefig(path)
