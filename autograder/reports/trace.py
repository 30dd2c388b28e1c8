"""The terminal report of `grade trace`: a table with one line a chunk, and the first difference in words.

Meaning never rests on colour: each line ends with a word, and a caret stands under the part that differs first.
"""

from __future__ import annotations

import textwrap
from collections.abc import Iterator

from rich.console import Console
from rich.text import Text

from autograder.traced import Step, Traced, TracedCase

_NUMBER = 8  # columns for each number
_MOST_ROWS = 20  # steps that are all shown
_ENDS = 4
_STYLES = {"same": "green", "differs": "red"}


def print_trace(console: Console, traced: Traced, again: str, folder: str = "") -> None:
    """The whole report; ``again`` is the command line of a check of the exercise, ``folder`` where its file is."""
    path = f"{folder.rstrip('/')}/{traced.file}" if folder else traced.file
    title = f": the running state, chunk by chunk ({path})"
    for line in textwrap.wrap(traced.exercise + title, console.width, break_long_words=False, break_on_hyphens=False):
        bold = "bold" if line.startswith(traced.exercise) else ""
        console.print(Text.assemble((line[: len(traced.exercise)], bold), line[len(traced.exercise) :]), soft_wrap=True)
    if not traced.cases:
        word = "" if traced.outcome == "not-started" else f"{traced.outcome}: "
        _say(console, word + (traced.message or "Not started: the stub is as it was handed out."), 2)
        _say(console, f"hint:  grade hint {traced.exercise}", 2)
    terms = dict(traced.terms)
    for case in traced.cases:
        console.print()
        _print_case(console, case, terms)
    if traced.all_same:
        console.print()
        _say(console, "Every state is as expected, and so is the output.", 0)
        _say(console, f"If `{again}` names a check that fails, --case CHECK traces its case.", 0)


def _print_case(console: Console, case: TracedCase, terms: dict[str, str]) -> None:
    """One case; of ``terms`` those that occur are explained, and taken out."""
    what = ", ".join(f"{name} {_setting(value)}" for name, value in case.case.items() if _tells(value))
    _say(console, f"{case.id}: {what}", 0, "bold")
    if case.steps:
        where = f"program {case.program}, row {case.row}, {case.place}; in brackets what is expected"
        _say(console, where[0].upper() + where[1:] + ".", 0)
        columns = list(case.steps[0].got)
        for name in [*(name for name, value in case.case.items() if _tells(value)), *columns]:
            if name in terms:
                _say(console, f"{name}: {terms.pop(name)}", 2)
        console.print()
        _print_steps(console, case)
    for note in case.notes:
        _say(console, f"Note: {note}", 0)
    if case.difference is not None:
        console.print()
        for sentence in case.difference.sentences:
            _say(console, sentence, 0)
    elif case.message:
        if case.steps:
            console.print()
        _say(console, case.message if case.steps else f"{case.outcome}: {case.message}", 0)


def _print_steps(console: Console, case: TracedCase) -> None:
    names = list(case.steps[0].got)
    first = f"{'chunk':<5} {'keys':<9}"
    head = first + "".join(f"{name:>{_NUMBER}} {'(' + name + ')':>{_NUMBER + 2}}" for name in names)
    wide = len(f"{head} differs") <= console.width
    if wide:
        console.print(Text(head, style="dim"), soft_wrap=True)
    for number, step in _rows(case):
        if step is None:
            console.print(Text(f"... {number} more like these", style="dim"), soft_wrap=True)
            continue
        keys = "-" if step.keys is None else "-".join(map(str, dict.fromkeys(step.keys)))
        chunk = "-" if step.chunk is None else str(step.chunk)
        word = "same" if step.same else "differs"
        mark = None
        if case.difference is not None and case.difference.step == number:
            mark = next((place for place, name in enumerate(names) if name.strip("|") == case.difference.part), None)
        if not wide:
            _print_step(console, f"chunk {chunk}, keys {keys}", step, mark)
            continue
        values = "".join(f"{_short(step.got[name])} {_short(step.expected[name], brackets=True)}" for name in names)
        row = Text.assemble(f"{chunk:<5} {keys:<9}{values} ", (word, _STYLES[word]))
        console.print(row, soft_wrap=True)
        if mark is not None:
            place = len(first) + mark * (2 * _NUMBER + 3) + _NUMBER - 1
            console.print(Text(" " * place + "^ first difference", style="red"), soft_wrap=True)


def _rows(case: TracedCase) -> Iterator[tuple[int, Step | None]]:
    """The steps with their numbers; of many the first, the last and those that differ, and how many are left out."""
    count = len(case.steps)
    ends = {*range(_ENDS), *range(count - _ENDS, count)}
    at = case.difference.step if case.difference is not None else 0
    shown = ends | set(range(at - _ENDS, at + _ENDS)) if count > _MOST_ROWS else set(range(count))
    left = 0
    for number, step in enumerate(case.steps):
        if number in shown:
            if left:
                yield left, None
            left = 0
            yield number, step
        else:
            left += 1


def _print_step(console: Console, head: str, step: Step, mark: int | None) -> None:
    """One chunk where there is no room for a table: a line for each part of the state."""
    word = "same" if step.same else "differs"
    console.print(Text.assemble(f"{head}: ", (word, _STYLES[word])), soft_wrap=True)
    for place, name in enumerate(step.got):
        values = f"{_short(step.got[name])} {_short(step.expected[name], brackets=True)}"
        first = (" < first difference", "red") if place == mark else ""
        console.print(Text.assemble(f"  {name:<6}{values}", first), soft_wrap=True)


def _short(value: float, brackets: bool = False) -> str:
    """A number in a column: five significant digits, fewer where it would not fit."""
    for digits in (5, 4, 3, 2):
        text = f"{value + 0.0:.{digits}g}"
        if len(text) < _NUMBER:
            break
    return f"{'(' + text + ')':>{_NUMBER + 2}}" if brackets else f"{text:>{_NUMBER}}"


def _tells(value: object) -> bool:
    """Whether a setting of a case says anything about it: flags that are off, and zeros, do not."""
    return value not in (False, 0, 0.0)


def _setting(value: object) -> str:
    return "on" if value is True else f"{value:.4g}" if isinstance(value, float) else str(value)


def _say(console: Console, text: str, indent: int, style: str = "") -> None:
    space = " " * indent
    for paragraph in text.split("\n"):
        lines = textwrap.wrap(
            paragraph,
            console.width,
            initial_indent=space,
            subsequent_indent=space,
            break_long_words=False,
            break_on_hyphens=False,
        )
        for line in lines:
            console.print(Text(line, style=style), soft_wrap=True)
