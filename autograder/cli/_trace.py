"""``grade trace``: the running state of a streaming kernel, chunk by chunk, beside the expected one."""

from __future__ import annotations

import sys
from pathlib import Path

import click

from autograder.cli._cases import repro_options, shown_folder
from autograder.cli._completion import complete_checks, complete_exercises
from autograder.cli.common import assignments, current_course, require_machine, shared_options
from autograder.errors import EXIT_NOT_ALL, EXIT_OK
from autograder.release.files import write_whole
from autograder.reports.terminal import make_console
from autograder.reports.trace import print_trace
from autograder.session import DEFAULT_SEED
from autograder.traced import to_json


@click.command()
@click.argument("exercise_id", metavar="EXERCISE", shell_complete=complete_exercises)
@click.option("--dir", "folder", type=click.Path(path_type=Path), help="What to trace: a folder, .py, .ipynb or .zip.")
@click.option(
    "--case",
    "case_id",
    metavar="ID",
    shell_complete=complete_checks,
    help="Only this case: one of the exercise's traces or checks.",
)
@click.option("--set", "settings", multiple=True, metavar="NAME=VALUE", help="Make that case smaller; may be repeated.")
@click.option(
    "--row", type=click.IntRange(0), help="Look at this query row only; default: all, and the worst is shown."
)
@click.option(
    "--program", type=click.IntRange(0), help="Look at this program; default: the one with the first wrong row."
)
@click.option(
    "--seed", type=click.IntRange(0, 2**31 - 1), default=DEFAULT_SEED, show_default=True, help="Seed of the inputs."
)
@click.option("--json", "json_path", metavar="PATH|-", help="Write the trace as JSON; with - stdout holds it alone.")
@click.option("--plain", is_flag=True, help="No colour, ASCII only.")
@shared_options
def trace(
    exercise_id: str,
    folder: Path | None,
    case_id: str | None,
    settings: tuple[str, ...],
    row: int | None,
    program: int | None,
    seed: int,
    json_path: str | None,
    plain: bool,
) -> int:
    """Show what a streaming kernel keeps after each chunk of keys, beside what it should keep.

    The kernel runs in Triton's interpreter, whatever this machine has, on small cases. Each line of the table is one
    chunk; the first difference is shown with the line of your file that made it. What the columns hold, and what
    the words of the case mean, stands above the table. Nothing is graded.

    \b
    Examples:
      grade trace flash_attention
      grade trace flash_attention --case ragged_causal --row 3
      grade trace online_softmax_update --json -
    """
    from autograder.tracing import TraceRequest
    from autograder.tracing import trace as run_trace

    course = current_course()
    exercise = course.exercise(exercise_id)
    handin = folder if folder is not None else assignments(course)
    require_machine("cpu")
    traced = run_trace(course, TraceRequest(handin, exercise, seed, case_id, settings, program, row))
    if json_path == "-":
        click.echo(to_json(traced), nl=False)
    elif json_path is not None:
        write_whole(Path(json_path), to_json(traced).encode())
    if json_path != "-":
        again = f"grade check {exercise.id}{repro_options(folder)}"
        print_trace(make_console(sys.stdout, plain), traced, again, shown_folder(folder))
    return EXIT_OK if traced.all_same else EXIT_NOT_ALL
