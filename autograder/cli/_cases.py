"""What ``grade check`` says of cases that count for nothing: one case by itself, and the smallest that fails."""

from __future__ import annotations

import shlex
import sys
import textwrap
from collections.abc import Mapping, Sequence
from pathlib import Path

import click

from autograder.catalogue import Course, Exercise
from autograder.errors import EXIT_NOT_ALL, EXIT_OK, UsageError
from autograder.one_case import Tried, named_case, planned, run_cases, shown
from autograder.protocol import printable
from autograder.reports.terminal import make_console
from autograder.result import RunResult
from autograder.session import Grader, Request
from autograder.smaller import MOST_RUNS, Smallest, failing_check, smallest_failing


def check_one_case(course: Course, grader: Grader, request: Request, name: str, settings: Sequence[str]) -> int:
    """Run one case of the one exercise that is asked for, and print what came of it; the exit code.

    Raises:
        UsageError: there is no such case, or it does not take these settings.
        HandInError: there is nothing readable at the hand-in's place.
    """
    exercise = only_exercise(request.exercises)
    check = named_case(exercise, name, settings, grader.device)
    plan = planned(course, request.handin, exercise)
    if plan.outcome is not None:
        _say(f"{plan.outcome}: {plan.message or 'Not started: the stub is as it was handed out.'}")
        return EXIT_NOT_ALL
    found: list[Tried] = []

    def take(tried: Tried) -> bool:
        found.append(tried)
        return False

    run_cases(grader.pool, plan, (check,), request.seed, grader.device, take)
    _say(f"{exercise.id}, a case of {name}: {_case(check.case)}")
    _say(f"inputs: {_shapes(found[0].shapes)}", 2)
    _say(f"{found[0].outcome}{': ' + found[0].message if found[0].message else ''}", 2)
    _say("One case by itself counts for nothing: `grade check` grades.")
    return EXIT_OK if found[0].outcome == "pass" else EXIT_NOT_ALL


def only_exercise(exercises: Sequence[Exercise]) -> Exercise:
    """The exercise of a request for one case.

    Raises:
        UsageError: there are several.
    """
    if len(exercises) != 1:
        raise UsageError("--case takes one exercise, as in `grade check EXERCISE --case CHECK`.")
    return exercises[0]


def print_smallest(course: Course, grader: Grader, request: Request, result: RunResult) -> None:
    """Search for the smallest case of the first check that failed, and print it with the command that repeats it."""
    click.echo()
    failed = failing_check(result.exercises)
    if failed is None:
        _say("Every check passed." if result.all_passed else "No check failed that has a case to make smaller.")
        return
    found = smallest_failing(course, grader, request, *failed)
    if found is None:
        _say(f"{failed[1]} of {failed[0]} does not fail when it is run by itself.")
        return
    _print(found, *failed, request, grader.device)


def _print(found: Smallest, exercise: str, check: str, request: Request, device: str) -> None:
    bound = "" if found.complete else f"; the search ends after {MOST_RUNS}"
    if found.endless:
        bound = "; the next one ran out of time, and the search ended there"
    _say(f"smallest case of {check} that fails, of {found.runs} tried{bound}:")
    _say(_case(found.tried.check.case), 2)
    _say(f"inputs: {_shapes(found.tried.shapes)}", 2)
    _say(f"{found.tried.outcome}: {found.tried.message}", 2)
    if not found.settings:
        _say("None of the smaller cases that were tried fails.", 2)
    settings = "".join(f" --set {key}={shown(value)}" for key, value in found.settings.items())
    command = f"grade check {exercise} --case {check}{settings} --seed {request.seed} --device {device}"
    click.echo(f"  again: {command}{request.repro_options}")  # in one line, to be copied


def shown_folder(folder: Path | None) -> str:
    """Where an editor finds the files of the hand-in: ``folder`` as it was typed; "" if it is no folder."""
    if folder is None:
        return "assignments"
    return printable(str(folder)) if folder.is_dir() else ""


def repro_options(folder: object) -> str:
    """What a command that repeats a run says of the hand-in's place."""
    return f" --dir {printable(shlex.quote(str(folder)))}" if folder is not None else ""


def _case(case: Mapping[str, object]) -> str:
    return ", ".join(f"{name} {shown(value)}" for name, value in case.items())


def _shapes(shapes: Mapping[str, tuple[int, ...]]) -> str:
    return ", ".join(f"{name} {'(' + ', '.join(map(str, shape)) + ')'}" for name, shape in shapes.items())


def _say(text: str, indent: int = 0) -> None:
    space = " " * indent
    for paragraph in text.split("\n"):
        lines = textwrap.wrap(
            paragraph,
            make_console(sys.stdout).width,
            initial_indent=space,
            subsequent_indent=space,
            break_long_words=False,
            break_on_hyphens=False,
        )
        click.echo("\n".join(lines))
