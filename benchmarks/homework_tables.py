"""What attention_homework.py has found out, as tables, and what of it is not as it should be.  No torch is needed."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from gpu_measure import Times, growth
from rich.box import SIMPLE
from rich.console import Console
from rich.table import Table

FASTEST_GROWTH = 1.05  # of extra memory, as the exponent of N
_OTHER_TASK = 0.02  # relative error of torch's form from which on it computes something else
_HEADS = ("exercise", "N", "ms", "±", "torch", "ratio", "TFLOP/s", "GB/s", "extra", "torch's")
_SUMMARY_HEADS = ("exercise", "torch's form", "extra ~", "torch's ~", "error")


@dataclass(frozen=True)
class Row:
    """One exercise at one length; None is what was not measured.

    ``share`` is the largest share of its bar that an output's error has, ``torch_error`` the relative error of torch's
    form, ``wrong`` the grader's message if there is one.  ``extra`` and ``torch_extra`` are bytes.
    """

    n: int
    share: float
    torch_error: float
    wrong: str
    extra: int | None = None
    torch_extra: int | None = None
    ours: Times | None = None
    torch: Times | None = None
    tflops: float | None = None
    gbytes: float | None = None

    @property
    def ratio(self) -> float | None:
        """The solution's time over torch's."""
        return self.ours.median / self.torch.median if self.ours and self.torch else None


@dataclass(frozen=True)
class Summary:
    """One exercise at all of its lengths, the shortest first."""

    exercise: str
    torch_form: str
    rows: tuple[Row, ...]

    @property
    def growth(self) -> float | None:
        """The exponent with which the solution's extra memory grows between the shortest length and the longest."""
        return self._growth(self.rows[0].extra, self.rows[-1].extra)

    @property
    def torch_growth(self) -> float | None:
        return self._growth(self.rows[0].torch_extra, self.rows[-1].torch_extra)

    def _growth(self, first: int | None, last: int | None) -> float | None:
        if first is None or last is None or len(self.rows) < 2:
            return None
        return growth(first, last, self.rows[-1].n / self.rows[0].n)


def faults(summaries: Sequence[Summary]) -> list[str]:
    """A sentence for each thing that is not as it should be."""
    found = []
    for summary in summaries:
        for row in summary.rows:
            if row.wrong:
                found.append(f"{summary.exercise}, N = {row.n:,}: {row.wrong}")
            if not row.torch_error <= _OTHER_TASK:
                found.append(
                    f"{summary.exercise}, N = {row.n:,}: {summary.torch_form} is off by {row.torch_error:.1g} of its "
                    "size, so that the two are not compared on the same task."
                )
        if summary.growth is not None and summary.growth > FASTEST_GROWTH:
            first, last = summary.rows[0], summary.rows[-1]
            found.append(
                f"{summary.exercise} needs {size(first.extra)} beyond inputs and outputs at N = {first.n:,} and "
                f"{size(last.extra)} at N = {last.n:,}: that grows faster than N."
            )
    return found


def notes(interpreter: bool) -> list[str]:
    """What the columns mean, in sentences."""
    error = "error: the largest part that an output's error takes of four times the grader's bar."
    if interpreter:
        return ["On a CPU only outputs are compared: there are no times, and torch counts no memory.", error]
    return [
        f"Times: the median of CUDA events and half the spread as a share of it; {_TURNS}",
        "ratio: the solution's time over torch's. TFLOP/s and GB/s: of what the task needs at least.",
        "extra: memory beyond inputs and outputs at its peak, as torch's allocator counts it; a mask that torch needs",
        "is made beforehand, and counts there and not in its time. extra ~: how that grows from N to 4 N.",
        error,
    ]


_TURNS = "both take turns, on 3 sets of inputs."


def tables(heading: str, summaries: Sequence[Summary], *, plain: bool) -> None:
    """Print both tables; at least 80 columns wide where nothing says how wide the terminal is."""
    console = Console(no_color=plain or None, highlight=False, emoji=False)
    if not console.is_terminal or console.width < 80:
        console = Console(no_color=plain or None, highlight=False, emoji=False, width=80)
    console.print(heading, style=None if plain else "bold")
    if any(row.ours for summary in summaries for row in summary.rows):
        console.print(_table(_HEADS, [cells(summary) for summary in summaries], plain))
    console.print(_table(_SUMMARY_HEADS, [[summary_cells(summary)] for summary in summaries], plain))


def _table(heads: Sequence[str], groups: Sequence[Sequence[Sequence[str]]], plain: bool) -> Table:
    table = Table(box=None if plain else SIMPLE, padding=(0, int(plain), 0, 0), pad_edge=False, show_edge=False)
    for head in heads:
        words = head in ("exercise", "torch's form")
        table.add_column(head, justify="left" if words else "right", no_wrap=True)
    for group in groups:
        for number, row in enumerate(group):
            table.add_row(*row, end_section=number == len(group) - 1 and len(group) > 1)
    return table


def cells(summary: Summary) -> list[list[str]]:
    """The rows of the first table; the exercise is named once."""
    return [
        [
            "" if number else summary.exercise,
            f"{row.n:,}",
            _ms(row.ours),
            "" if row.ours is None else f"{row.ours.spread:.0%}",
            "no room" if row.ours and row.torch is None else _ms(row.torch),
            _number(row.ratio, ".2f"),
            _number(row.tflops, ".1f"),
            _number(row.gbytes, ",.0f"),
            size(row.extra),
            size(row.torch_extra),
        ]
        for number, row in enumerate(summary.rows)
    ]


def summary_cells(summary: Summary) -> list[str]:
    """The row of the second table."""
    return [
        summary.exercise,
        summary.torch_form,
        _power(summary.growth, summary.rows[-1].extra),
        _power(summary.torch_growth, summary.rows[-1].torch_extra),
        f"{max(row.share for row in summary.rows):.0%}",
    ]


def _ms(times: Times | None) -> str:
    return "" if times is None else f"{times.median:.3g}" if times.median < 100 else f"{times.median:.0f}"


def _number(value: float | None, spec: str) -> str:
    return "" if value is None else format(value, spec)


def _power(exponent: float | None, last: int | None) -> str:
    return "" if exponent is None else "none" if not last else f"N^{exponent:.2f}"


def size(count: int | None) -> str:
    """A number of bytes: 0, or with a unit in powers of 1024."""
    if count is None:
        return ""
    amount, units = float(count), ["B", "KiB", "MiB", "GiB"]
    while amount >= 1000 and len(units) > 1:
        amount, units = amount / 1024, units[1:]
    return "0" if not count else f"{amount:.0f} {units[0]}" if amount >= 10 else f"{amount:.2g} {units[0]}"


def markdown(heading: str, summaries: Sequence[Summary], interpreter: bool) -> str:
    """Both tables and what they mean, as Markdown."""
    made_by = "Made by `python benchmarks/attention_homework.py --markdown benchmarks/attention_homework.md`."
    parts = ["# Lesson 7's homework beside torch", "", made_by, "", f"{heading}.", ""]
    if any(row.ours for summary in summaries for row in summary.rows):
        parts += [*_lines(_HEADS, [row for summary in summaries for row in cells(summary)]), ""]
    parts += [*_lines(_SUMMARY_HEADS, [summary_cells(summary) for summary in summaries]), ""]
    return "\n".join([*parts, "```", *notes(interpreter), *faults(summaries), "```", ""])


def _lines(heads: Sequence[str], rows: Sequence[Sequence[str]]) -> list[str]:
    rule = [":--" if head in ("exercise", "torch's form") else "--:" for head in heads]
    return [f"| {' | '.join(row)} |" for row in (heads, rule, *rows)]
