"""What was measured of attention as tables in Markdown, and ratios read back from such tables."""

from __future__ import annotations

import itertools
import math
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from attention_problem import Row, Shape

AGAINST = ("torch flash", "torch cuDNN")
FALL = 0.1  # of a ratio to torch's flash backend, beyond which --check complains


@dataclass
class Table:
    """A part of the run."""

    title: str
    rows: list[Row] = field(default_factory=list)
    products: int = 2  # of tiles, for each pair of them


def by_shape(rows: Sequence[Row]) -> Iterator[tuple[Shape, list[Row]]]:
    for shape, group in itertools.groupby(rows, key=lambda row: row.shape):
        yield shape, list(group)


def milliseconds(row: Row) -> str:
    return f"{row.spread.median * 1e3:.3f} ms" if row.spread else row.note


def lines(table: Table) -> Iterator[str]:
    """The table in Markdown: rates, ratios to torch's backends, and what the compiled kernels take."""
    yield f"## {table.title}"
    yield ""
    calls = any(row.launched is not None for row in table.rows)
    titles = "shape | variant | ms (10 to 90 %) | TFLOP/s | x flash | x cuDNN | error | registers | shared KB | spills"
    yield f"| {titles} |" + (" a call, us | in a graph, us |" if calls else "")
    yield "|---|---|---|---|---|---|---|---|---|---|" + ("---|---|" if calls else "")
    for shape, group in by_shape(table.rows):
        medians = {row.name: row.spread.median for row in group if row.spread}
        flops = (
            2
            * table.products
            * shape.batch
            * shape.heads
            * shape.seqlen**2
            * shape.head_dim
            / (2 if shape.causal else 1)
        )
        for row in group:
            if row.spread is None:
                yield f"| {shape} | {row.name} | {row.note} | | | | | | | |" + (" | |" if calls else "")
                continue
            spread, median = row.spread, row.spread.median
            ratios = [
                f"{medians[other] / median:.3f}" if other in medians else "" for other in ("torch flash", "torch cuDNN")
            ]
            kernel = row.compiled
            used = ["", "", ""]
            if kernel is not None and hasattr(kernel, "n_regs"):
                used = [str(kernel.n_regs), f"{kernel.metadata.shared / 1024:.0f}", str(kernel.n_spills)]
            cells = [
                str(shape),
                row.name,
                f"{median * 1e3:.3f} ({spread.low * 1e3:.3f} to {spread.high * 1e3:.3f})",
                f"{flops / median / 1e12:.0f}" if flops / median > 1e13 else f"{flops / median / 1e12:.1f}",
                *ratios,
                f"{row.error:.1e}",
                *used,
            ]
            if calls:
                cells += [f"{once * 1e6:.1f}" if once else "" for once in (row.launched, row.replayed)]
            yield "| " + " | ".join(cells) + " |"
    yield ""
    yield from _means(table)


def _means(table: Table) -> Iterator[str]:
    """Geometric means over the shapes that a variant was timed on, if on more than one."""
    ratios: dict[str, dict[str, list[float]]] = {}
    for _, group in by_shape(table.rows):
        medians = {row.name: row.spread.median for row in group if row.spread}
        for name, median in medians.items():
            for other in AGAINST:
                if other in medians and name != other:
                    ratios.setdefault(name, {}).setdefault(other, []).append(medians[other] / median)
    for name, by_other in ratios.items():
        if name.startswith("torch") or any(len(found) < 2 for found in by_other.values()):
            continue
        means = [f"{math.prod(x) ** (1 / len(x)):.3f}x {other} ({len(x)} shapes)" for other, x in by_other.items()]
        yield f"* {name}, geometric mean: {', '.join(means)}"
    yield ""


def ratios_in(text: str) -> dict[tuple[str, str], float]:
    """By shape and variant, the ratio to torch's flash backend that a table has; of several, the first."""
    found: dict[tuple[str, str], float] = {}
    for line in text.splitlines():
        cells = [cell.strip() for cell in line.strip("| ").split(" | ")]
        if len(cells) >= 6 and re.fullmatch(r"[\d.]+", cells[4]) and not cells[1].startswith("torch"):
            found.setdefault((cells[0], cells[1]), float(cells[4]))
    return found


def fallen(before: str, now: str) -> list[str]:
    """A sentence for each ratio that fell by over a tenth between two tables, and for what is no longer there."""
    old, new = ratios_in(before), ratios_in(now)
    shapes = {line.strip("| ").split(" | ")[0] for line in now.splitlines() if line.startswith("| B")}
    sentences = []
    for (shape, name), ratio in old.items():
        if shape not in shapes:
            continue  # this part was not run
        if (shape, name) not in new:
            sentences.append(f"{shape}: {name} has no ratio now; it was {ratio:.2f} times torch's flash backend.")
        elif new[shape, name] < ratio * (1 - FALL):
            now_is = f"{new[shape, name]:.2f} times torch's flash backend"
            sentences.append(f"{shape}: {name} is {now_is}; it was {ratio:.2f}.")
    return sentences
