"""Drawings for the lessons: SVG that goes into the page, so that it follows the page's colours and fonts."""

from __future__ import annotations

import html
import io
import re
from collections.abc import Callable, Mapping
from typing import Any

from making.diagrams import DIAGRAMS
from making.facts import HEADS, INTENSITIES, LAYERS, T4_BYTES, T4_FLOPS, fused_bytes, scores_bytes

# Colours stand for the variables of static/site.css, which have other values in the dark.
_INK, _FAINT, _ONE, _TWO, _THREE = "#010101", "#020202", "#030303", "#040404", "#050505"
_VARIABLES = {
    _INK: "var(--pic-ink)",
    _FAINT: "var(--pic-faint)",
    _ONE: "var(--pic-one)",
    _TWO: "var(--pic-two)",
    _THREE: "var(--pic-three)",
}


def draw(name: str, alt: str) -> str:
    """The SVG of a drawing; ``alt`` is what it says to those who do not see it.

    Raises:
        KeyError: there is no drawing of that name.
    """
    svg = DRAWINGS[name]()
    for colour, variable in _VARIABLES.items():
        svg = svg.replace(colour, variable)
    svg = re.sub(r"\b(clip[\w-]*|[mp][0-9a-f]{9,})\b", rf"{name}-\1", svg)  # ids are one page's
    return svg.replace("<svg ", f'<svg role="img" aria-label="{html.escape(alt, quote=True)}" ', 1)


def _figure(width: float, height: float, columns: int = 1, **options: Any) -> tuple[Any, Any]:
    import matplotlib

    matplotlib.use("svg")
    from matplotlib import pyplot

    matplotlib.rcParams.update(
        {
            "svg.fonttype": "none",
            "svg.hashsalt": "course",
            "font.size": 11,
            "text.color": _INK,
            "axes.edgecolor": _FAINT,
            "axes.labelcolor": _INK,
            "axes.spines.top": False,
            "axes.spines.right": False,
            "xtick.color": _INK,
            "ytick.color": _INK,
            "xtick.major.size": 0,
            "ytick.major.size": 0,
        }
    )
    return pyplot.subplots(1, columns, figsize=(width, height), **options)


def _svg(figure: Any) -> str:
    from matplotlib import pyplot

    written = io.StringIO()
    figure.savefig(written, format="svg", transparent=True, bbox_inches="tight", metadata={"Date": None})
    pyplot.close(figure)
    text = written.getvalue()
    text = text[text.index("<svg ") :]
    text = re.sub(r"<metadata>.*?</metadata>", "", text, flags=re.DOTALL)
    text = re.sub(r"font-family: [^;\"]*", "font-family: var(--pic-font)", text)
    text = re.sub(r'(<svg [^>]*?) height="[^"]*"', r"\1", text, count=1)
    return re.sub(r"\n\s*\n", "\n", text)  # a blank line would end the block in Markdown


def _memory() -> str:
    """S of all heads and layers against the length, and what is written without it."""
    figure, axes = _figure(6.2, 3.5)
    lengths = [1024 * 2**step for step in range(7)]
    gib = 2**30
    lines = (
        ("S, 32 heads, 32 layers", [scores_bytes(n) * HEADS * LAYERS / gib for n in lengths], _ONE, "-", 0),
        ("S, 32 heads", [scores_bytes(n) * HEADS / gib for n in lengths], _ONE, "--", 0),
        ("S, one head", [scores_bytes(n) / gib for n in lengths], _ONE, ":", 7),
        ("fused, 32 heads, 32 layers", [fused_bytes(n) * HEADS * LAYERS / gib for n in lengths], _TWO, "-", -7),
    )
    for label, values, colour, style, above in lines:
        axes.plot(lengths, values, color=colour, linestyle=style, linewidth=2.2, marker="o", markersize=3.5)
        axes.annotate(
            label,
            (lengths[-1], values[-1]),
            (8, above),
            textcoords="offset points",
            color=colour,
            va="center",
            fontsize=10,
        )
    axes.axhline(16, color=_FAINT, linewidth=1.2)
    axes.annotate("a T4 has 16 GB", (lengths[0], 16), (0, 5), textcoords="offset points", color=_INK, fontsize=10)
    axes.set_xscale("log", base=2)
    axes.set_yscale("log", base=10)
    axes.set_xticks(lengths, [f"{n // 1024}k" for n in lengths])
    axes.set_yticks([0.01, 1, 100, 10000], ["10 MiB", "1 GiB", "100 GiB", "10 TiB"])
    axes.minorticks_off()
    axes.set_xlabel("tokens N")
    axes.grid(axis="y", color=_FAINT, linewidth=0.5, alpha=0.5)
    return _svg(figure)


def _tile() -> str:
    """A tile of scores with its ghosts and its future: 5 tokens in a tile of 8."""
    figure, axes = _figure(6.6, 3.1, 2)
    from matplotlib.patches import Rectangle

    for axis, causal in zip(axes, (False, True), strict=True):
        for row in range(8):
            for column in range(8):
                ghost = row >= 5 or column >= 5
                future = causal and column > row and not ghost
                colour = _FAINT if ghost else _THREE if future else _ONE
                axis.add_patch(
                    Rectangle(
                        (column + 0.06, row + 0.06),
                        0.88,
                        0.88,
                        linewidth=0,
                        facecolor=colour,
                        alpha=0.28 if ghost else 0.75,
                    )
                )
                if ghost or future:
                    axis.text(column + 0.5, row + 0.53, "−∞", ha="center", va="center", fontsize=8.5)
        axis.set_xlim(0, 8)
        axis.set_ylim(8, 0)
        axis.set_aspect("equal")
        axis.set_xticks([2.5, 6.5], ["5 keys", "ghosts"])
        axis.xaxis.tick_top()
        axis.set_yticks([2.5, 6.5], ["5 queries", "ghosts"] if not causal else ["", ""])
        for spine in axis.spines.values():
            spine.set_visible(False)
        axis.set_xlabel("CAUSAL = True" if causal else "CAUSAL = False")
    return _svg(figure)


def _ruler() -> str:
    """The weights of four keys, measured against the old maximum, brought over, and complete."""
    import math

    figure, axes = _figure(7.2, 2.7, 3, sharey=True)
    scores = (1.0, 2.0, 4.0, 3.0)
    panels = (
        ("after chunk 1: m = 2", [math.exp(s - 2) for s in scores[:2]] + [0, 0], _ONE),
        ("brought over to m = 4", [math.exp(s - 4) for s in scores[:2]] + [0, 0], _TWO),
        ("after chunk 2: m = 4", [math.exp(s - 4) for s in scores], _TWO),
    )
    for axis, (title, heights, colour) in zip(axes, panels, strict=True):
        axis.bar(range(4), heights, width=0.62, color=[colour] * 4)
        for place, height in enumerate(heights):
            words = f"{height:.3g}" if height else "not seen"
            axis.text(place, height + 0.03, words, ha="center", fontsize=9 if height else 8)
        axis.set_title(title, fontsize=11, color=_INK, pad=12)
        axis.set_xticks(range(4), [f"s={s:g}" for s in scores])
        axis.set_yticks([])
        axis.spines["left"].set_visible(False)
        axis.set_ylim(0, 1.15)
    figure.tight_layout(w_pad=2.5)
    return _svg(figure)


def _roofline() -> str:
    """What a T4 could compute at most, by how much a kernel computes with each byte."""
    figure, axes = _figure(7.2, 3.8)
    edge = T4_FLOPS / T4_BYTES
    roof = [0.05, edge, 3000]
    axes.plot(roof, [min(T4_FLOPS, place * T4_BYTES) / 1e12 for place in roof], color=_INK, linewidth=2.2)
    said = {"textcoords": "offset points", "size": 10}
    slope = {"rotation": 37.5, "rotation_mode": "anchor", "ha": "center"}
    axes.annotate("as fast as memory brings numbers", (0.9, 0.9 * T4_BYTES / 1e12), (-12, 9), **said, **slope)
    axes.annotate("as fast as it computes", (edge, T4_FLOPS / 1e12), (0, 26), **said)
    # where a name stands beside its point, in points, and how it is aligned
    places = {"attention, S written": (-10, 4, "right"), "matmul of 1024 x 1024": (0, -16, "center")}
    places["attention, fused"] = (0, 8, "center")
    for name, flops, moved in INTENSITIES:
        place = flops / moved
        height = min(T4_FLOPS, place * T4_BYTES) / 1e12
        colour = _TWO if place > edge else _ONE
        axes.plot([place], [height], marker="o", color=colour, markersize=7)
        right, up, align = places.get(name, (10, -4, "left"))
        axes.annotate(name, (place, height), (right, up), color=colour, ha=align, **said)
    axes.set_xscale("log")
    axes.set_yscale("log")
    axes.set_xticks([0.1, 1, 10, 100, 1000], ["0.1", "1", "10", "100", "1000"])
    axes.set_yticks([0.01, 0.1, 1, 10], ["0.01", "0.1", "1", "10 TFLOP/s"])
    axes.minorticks_off()
    axes.set_ylim(0.01, 40)
    axes.set_xlabel("operations for each byte moved")
    axes.grid(color=_FAINT, linewidth=0.5, alpha=0.4)
    return _svg(figure)


DRAWINGS: Mapping[str, Callable[[], str]] = {
    "memory": _memory,
    "tile": _tile,
    "ruler": _ruler,
    "roofline": _roofline,
    **DIAGRAMS,
}
