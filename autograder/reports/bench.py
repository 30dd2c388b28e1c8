"""What `grade bench` found, in the terminal: a table for each series, the roof, and times over sizes as a plot."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator, Mapping, Sequence

from rich.console import Console
from rich.table import Table

from autograder.benching import Benched, Series, Size
from autograder.measured import STUDENT, Times
from autograder.reports.bench_plot import text_plot

YOURS = "yours"


def print_bench(console: Console, found: Benched, plain: bool = False) -> None:
    """The whole report."""
    gpu = found.environment.gpu or "no GPU that torch can use"
    versions = f"torch {found.environment.torch}, triton {found.environment.triton}"
    _say(console, f"{found.exercise} on {gpu}; {versions}")
    if found.problem:
        _say(console, found.problem)
        return
    if not found.measured:
        others = ", ".join(found.labels.values())
        _say(console, f"Nothing is measured here: with a GPU, these sizes would be, each beside {others}.")
        _say(console, "The bytes and operations are what the task takes at least.")
    for series in found.series:
        console.print()
        _say(console, title_of(series))
        if not found.measured:
            console.print(_plan_table(found, series, plain))
            continue
        console.print(_table(found, series, plain))
        for line in _notes(found, series):
            _say(console, line, 2)
        for line in text_plot(curves(found, series), found.length, console.width - 2):
            console.print(f"  {line}", markup=False, highlight=False)
    if found.roof:
        console.print()
        for line in _roof(found):
            _say(console, line)


def title_of(series: Series) -> str:
    """A series' variant in words."""
    settings = ", ".join(
        f"{name} {('on' if value else 'off') if isinstance(value, bool) else value}"
        for name, value in series.variant.items()
    )
    return f"{series.dtype}{', ' if settings else ''}{settings}"


def curves(found: Benched, series: Series) -> Mapping[str, list[tuple[float, float]]]:
    """By contender, its points: length and milliseconds; the student's come first."""
    points: dict[str, list[tuple[float, float]]] = {}
    for size in series.sizes:
        for name, times in _contenders(size):
            points.setdefault(_label(found, name), []).append((float(size.length), times.median * 1e3))
    return points


def bound(size: Size, series: Series, roof: Mapping[str, float]) -> float | None:
    """The least seconds that a size can take on this GPU: its operations or its bytes, whichever takes longer."""
    bytes_a_second, operations = roof.get("copy"), roof.get(series.dtype)
    if not bytes_a_second or not operations:
        return None
    return max(size.moved / bytes_a_second, size.flops / operations)


def _table(found: Benched, series: Series, plain: bool) -> Table:
    table = _empty(plain)
    table.add_column(_length(found), justify="right")
    table.add_column("who")
    for title in ("ms", "10 to 90 %", "TFLOP/s", "GB/s", "extra MB", "yours is"):
        table.add_column(title, justify="right")
    for size in series.sizes:
        length = f"{size.length}"
        if size.measured is None:
            table.add_row(length, YOURS, size.outcome, *[""] * 5)
            continue
        for name, times in _contenders(size):
            ratio = size.measured.ratio(name) if name != STUDENT else None
            wrong = name == STUDENT and not size.measured.right
            table.add_row(
                length,
                _label(found, name) + (" (WRONG)" if wrong else ""),
                _figure(times.median * 1e3),
                f"{_figure(times.low * 1e3)}-{_figure(times.high * 1e3)}",
                _figure(size.flops / times.median / 1e12),
                _figure(size.moved / times.median / 1e9),
                _figure(times.memory / 1e6) if times.memory else "0",
                f"{ratio:.2f}x" if ratio is not None and size.outcome != "fail" else "",
            )
            length = ""
    return table


def _plan_table(found: Benched, series: Series, plain: bool) -> Table:
    table = _empty(plain)
    for title in (_length(found), "operations", "bytes", "operations a byte"):
        table.add_column(title, justify="right")
    for size in series.sizes:
        table.add_row(f"{size.length}", f"{size.flops:,}", f"{size.moved:,}", _figure(size.flops / size.moved))
    return table


def _notes(found: Benched, series: Series) -> Iterator[str]:
    """Failures, baselines that are not there, and how near the roof the largest size is."""
    for size in series.sizes:
        if size.message:
            yield f"{found.length} {size.length}: {size.message}"
    absent = {name for size in series.sizes if size.measured for name in size.measured.absent}
    if absent:
        names = ", ".join(label for name, label in found.labels.items() if name in absent)
        yield f"Not everywhere: {names}. That backend does not take such inputs, or memory did not suffice."
    whole = [size for size in series.sizes if size.outcome == "pass" and size.measured is not None]
    if whole and whole[-1].measured is not None:
        last = whole[-1]
        measured = whole[-1].measured
        least = bound(last, series, found.roof)
        if least is not None:
            share = least / measured.times[STUDENT].median
            yield f"At {found.length} {last.length} yours reaches {share:.0%} of this GPU's roof."
        if measured.kernel:
            used = measured.kernel
            yield (
                f"It takes {used.get('registers', 0):.0f} registers and {used.get('spills', 0):.0f} bytes of spills a "
                f"thread, and {used.get('shared_bytes', 0) / 1024:.0f} KB of shared memory a block."
            )


def _roof(found: Benched) -> Iterator[str]:
    rates = [f"{found.roof[dtype] / 1e12:.0f} TFLOP/s {dtype}" for dtype in found.roof if dtype != "copy"]
    copy = f"{found.roof['copy'] / 1e9:,.0f} GB/s" if "copy" in found.roof else ""
    yield f"The roof, measured in this run: a copy {copy}; a large matmul {', '.join(rates)}."
    yield "Times are medians on the GPU, by turns and on changing inputs; results were compared before and after."


def _contenders(size: Size) -> list[tuple[str, Times]]:
    """The student first, then baselines in their order."""
    if size.measured is None:
        return []
    return sorted(size.measured.times.items(), key=lambda item: item[0] != STUDENT)


def _label(found: Benched, name: str) -> str:
    return YOURS if name == STUDENT else found.labels.get(name, name)


def _length(found: Benched) -> str:
    return found.length


def _figure(value: float) -> str:
    """Three digits that count, or all before the point."""
    if value >= 100:
        return f"{value:,.0f}"
    return f"{value:.3g}"


def _empty(plain: bool) -> Table:
    return Table(box=None, pad_edge=False, padding=(0, 1), header_style="" if plain else "bold")


def _say(console: Console, text: str, indent: int = 0) -> None:
    lines: Sequence[str] = textwrap.wrap(text, console.width - indent, break_long_words=False, break_on_hyphens=False)
    for line in lines:
        console.print(" " * indent + line, markup=False, highlight=False)
