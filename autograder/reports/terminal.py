"""The terminal report: one line an exercise, the total, and the full story of one exercise.

Meaning never rests on colour: every state is a word.  With ``plain`` there is neither colour nor anything but ASCII,
and the order of the lines makes sense when read aloud.
"""

from __future__ import annotations

import textwrap
from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import IO

from rich.console import Console
from rich.table import Table
from rich.text import Text

from autograder.catalogue import TARGET_TIER
from autograder.reports.mass_tables import read_mass, table_lines
from autograder.reports.pictures import read_picture
from autograder.reports.repeats import first_to_say
from autograder.reports.terminal_pictures import drawn
from autograder.result import AFTER_A_FAILURE, CheckResult, ExerciseResult, RunResult

WIDTH = 80

_OUTCOME = 13  # columns of the word that each line of the table begins with

_BROKEN = frozenset({"partial", "fail", "refused", "compile-error", "timeout", "crashed", "out-of-memory"})
_STYLES = {
    "pass": "green",
    "partial": "yellow",
    "not-started": "dim",
    "skipped": "dim",
    "grader-error": "magenta",
}


def make_console(stream: IO[str], plain: bool = False) -> Console:
    """A console on ``stream``: 80 columns where it is no terminal, and as wide as it where it is, up to 100.

    ``plain`` takes no more than 80.
    """
    console = Console(file=stream, no_color=plain or None, highlight=False, emoji=False)
    console.width = min(console.width, WIDTH if plain else 100) if stream.isatty() else WIDTH
    if plain:
        console = Console(
            file=stream, color_system=None, force_terminal=False, highlight=False, emoji=False, width=console.width
        )
    return console


def print_run(
    console: Console,
    result: RunResult,
    plain: bool = False,
    remarks: Mapping[str, str] = MappingProxyType({}),
    folder: str = "",
) -> None:
    """The whole report of one run; of ``remarks`` on exercises, beside earlier attempts, one is shown.

    ``folder`` is where the hand-in's files are, as an editor is told.
    """
    print_header(console, result)
    print_table(console, result.exercises, plain)
    print_total(console, result)
    story = first_story(result.exercises)
    if story is not None:
        console.print()
        print_story(console, story, plain, folder)
    if (history := _history(remarks, story)) is not None:
        _say(console, history, 2 if story is not None else 0)
    for exercise in result.exercises:
        for remark in exercise.remarks if exercise is not story else ():
            _say(console, f"Note on {exercise.id}: {remark}", 0)
    others = [item.id for item in result.exercises if item.counts and item.outcome in _BROKEN and item is not story]
    if story is not None and others:
        _say(console, f"also open: {', '.join(others)}   (grade check {others[0]} tells its story)", 0)
    for note in result.notes:
        _say(console, f"Note: {note}", 0, "dim")


def _history(remarks: Mapping[str, str], story: ExerciseResult | None) -> str | None:
    """The one line about earlier attempts: of the exercise whose story is told, or else of the first there is."""
    if story is not None and story.id in remarks:
        return f"history: {remarks[story.id]}"
    return next((f"history: {exercise} {remark}" for exercise, remark in remarks.items()), None)


def print_header(console: Console, result: RunResult) -> None:
    environment = result.environment
    device = environment.gpu or "CPU (Triton's interpreter)"
    console.print(Text(result.course_title or "", style="bold"))
    console.print(Text(f"{device}, triton {environment.triton or '?'}, torch {environment.torch or '?'}", style="dim"))
    console.print()


def print_table(console: Console, exercises: Sequence[ExerciseResult], plain: bool = False) -> None:
    """One line an exercise; two where the console is too narrow for one."""
    wide = sum(max(map(len, column)) for column in zip(*((e.id, public_count(e), _points(e)) for e in exercises)))
    if _OUTCOME + 6 + wide > console.width:
        for exercise in exercises:
            word = Text(exercise.outcome, outcome_style(exercise.outcome))
            console.print(Text.assemble(word, f": {exercise.id}"), soft_wrap=True)
            _say(console, ", ".join(filter(None, (public_count(exercise), _points(exercise)))), 2, "dim")
        return
    table = Table(box=None, padding=(0, 2, 0, 0), pad_edge=False, show_header=False)
    table.add_column(no_wrap=True, width=_OUTCOME)
    table.add_column(no_wrap=True)
    table.add_column(no_wrap=True, overflow="ellipsis", ratio=1)
    table.add_column(justify="right", no_wrap=True)
    table.expand = True
    for exercise in exercises:
        table.add_row(
            Text(exercise.outcome, style=outcome_style(exercise.outcome)),
            exercise.id,
            Text(public_count(exercise), style="dim"),
            _points(exercise),
        )
    console.print(table)


def _points(exercise: ExerciseResult) -> str:
    return f"{points_text(exercise.score)} / {points_text(exercise.points)}"


def print_total(console: Console, result: RunResult) -> None:
    console.print()
    total = f"total {points_text(result.score)} / {points_text(result.points)}"
    if result.bonus:
        total += f", bonus {points_text(result.bonus)}"
    if not result.hidden:
        total += "   (public checks; hidden checks run when the course grades)"
    console.print(Text(total, style="bold"))
    if reasons := _target_reasons(result.exercises):
        _say(console, f"not counted, GPU targets: {' '.join(reasons)}", 0)
    uncounted = [exercise.id for exercise in result.exercises if not exercise.counts and not exercise.optional]
    if uncounted:
        console.print(Text(f"left out of the total, no check runs on this machine: {', '.join(uncounted)}"))


def first_story(exercises: Sequence[ExerciseResult]) -> ExerciseResult | None:
    """The first exercise that was started and not passed, a bonus last; without one, the first that is not passed."""
    counted = [exercise for exercise in exercises if exercise.counts]
    open_ones = [exercise for exercise in counted or exercises if not exercise.passed]
    started = [exercise for exercise in open_ones if exercise.outcome not in ("not-started", "skipped")]
    bonuses = [exercise for exercise in exercises if exercise.optional and exercise.outcome in _BROKEN]
    return next(iter(started or bonuses or open_ones), None)


def print_story(console: Console, exercise: ExerciseResult, plain: bool = False, folder: str = "") -> None:
    """Where, when and why one exercise is not passed, and what to do next; ``folder`` is where its file is."""
    console.print(Text.assemble((exercise.id, "bold"), f": {exercise.title}"))
    if exercise.file:
        path = f"{folder.rstrip('/')}/{exercise.file}" if folder else exercise.file
        _say(console, f"in {path}" + (f", from {exercise.begins}" if exercise.begins else ""), 2)
    if exercise.message:
        _say(console, exercise.message, 2)
    if exercise.outcome == "not-started":
        if not exercise.message:
            _say(console, "Not started: the stub is as it was handed out.", 2)
        _say(console, f"what to write: course/exercises/lesson{exercise.lesson}/{exercise.id}/handout.md", 2)
    else:
        first = next((check.id for check in exercise.checks if check.outcome not in ("pass", "skipped")), None)
        for check, before in first_to_say(exercise.checks):
            _print_check(console, check, plain, check.id == first, before is not None)
        left_out = [check.id for check in exercise.checks if check.message == AFTER_A_FAILURE]
        if left_out:
            _say(console, f"not run until these pass: {', '.join(left_out)}", 2)
    for clue in exercise.clues:
        _say(console, f"seen: {clue.message}", 2)
        if (table := read_mass(clue)) is not None:
            for line in table_lines(table, plain):
                console.print(Text("    ").append_text(line), soft_wrap=True)
    for item in exercise.diagnosis:
        _say(console, f"likely cause: {item.message}", 2)
    for remark in exercise.remarks:
        _say(console, f"Note: {remark}", 2)
    failed = next((check for check in exercise.checks if check.outcome not in ("pass", "skipped")), None)
    if failed is not None and failed.repro:
        console.print(Text(f"  again: {failed.repro}"), soft_wrap=True)  # in one line, to be copied
    for number, command in enumerate(exercise.closer):
        label = "look closer: " if number == 0 else " " * len("look closer: ")
        console.print(Text(f"  {label}{command}"), soft_wrap=True)
    _say(console, f"hint:  grade hint {exercise.id}", 2)


def _print_check(console: Console, check: CheckResult, plain: bool, with_picture: bool, again: bool) -> None:
    """One check; ``again`` if what it says was told before."""
    if check.outcome == "skipped":
        return
    word = Text(f"{check.outcome:<13} ", outcome_style(check.outcome))
    more = ("  (hidden)" if check.hidden else "") + ("  (as above)" if again else "")
    console.print(Text.assemble("  ", word, check.id, more))
    if check.outcome != "pass" and not again:
        _say(console, check.message, 6)
        if with_picture and (picture := read_picture(check.where)) is not None:
            lines = [Text("      ").append_text(line) for line in drawn(picture, plain)]
            if max(map(len, lines)) <= console.width:  # broken in two, its lines would show nothing
                for line in lines:
                    console.print(line, soft_wrap=True)
        _say(console, f"This check proves: {check.proves}", 6, "dim")


def _say(console: Console, text: str, indent: int, style: str = "") -> None:
    """Print wrapped text; its lines carry no trailing blanks, and a word too long for a line is left whole."""
    space = " " * indent
    lines = textwrap.wrap(
        text,
        console.width,
        initial_indent=space,
        subsequent_indent=space,
        break_long_words=False,
        break_on_hyphens=False,
    )
    for line in lines:
        console.print(Text(line, style=style), soft_wrap=True)


def public_count(exercise: ExerciseResult) -> str:
    """``public 3 of 5`` for what ran; empty for what did not.

    Whether the kernels compile for GPUs is no part of the count, as it may be told later, and is said if they do not.
    """
    ran = [check for check in exercise.checks if not check.hidden and check.tier != TARGET_TIER]
    if all(check.outcome == "skipped" for check in ran):
        return ""
    passed = sum(check.outcome == "pass" for check in ran)
    able = sum(check.outcome != "skipped" or check.message == AFTER_A_FAILURE for check in ran)
    text = f"public {passed} of {able}"
    if any(check.tier == TARGET_TIER and check.outcome not in ("pass", "skipped") for check in exercise.checks):
        text += ", GPU targets fail"
    hidden = [check for check in exercise.checks if check.hidden]
    if hidden:
        text += f", hidden {sum(check.outcome == 'pass' for check in hidden)} of {len(hidden)}"
    return text


def _target_reasons(exercises: Sequence[ExerciseResult]) -> list[str]:
    """Why the check on GPU targets was not made, each reason once."""
    return list(
        dict.fromkeys(
            check.message
            for exercise in exercises
            for check in exercise.checks
            if check.tier == TARGET_TIER and check.outcome == "skipped"
        )
    )


def outcome_style(outcome: str) -> str:
    return _STYLES.get(outcome, "red")


def points_text(value: float) -> str:
    return f"{value:.2f}".rstrip("0").rstrip(".") if value % 1 else f"{value:.0f}"
