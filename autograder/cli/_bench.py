"""``grade bench``: how fast a kernel is, beside what torch has and what the GPU could do."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import click

from autograder.benching import bench as run_bench
from autograder.benching import benchable, to_document
from autograder.cli._completion import complete_exercises
from autograder.cli._progress import Bar
from autograder.cli.common import assignments, current_course, require_machine, shared_options
from autograder.errors import EXIT_NOT_ALL, EXIT_OK, OutputError, UsageError
from autograder.machine import choose_device, environment
from autograder.release.files import write_whole
from autograder.reports.bench import curves, print_bench, title_of
from autograder.reports.bench_plot import write_plot
from autograder.reports.terminal import make_console


@click.command()
@click.argument("exercise_id", metavar="EXERCISE", shell_complete=complete_exercises)
@click.option(
    "--dir", "folder", type=click.Path(path_type=Path), help="What to measure: a folder, .py, .ipynb or .zip."
)
@click.option("--json", "json_path", metavar="PATH|-", help="Write it as JSON; with - stdout holds that alone.")
@click.option("--plot", type=click.Path(path_type=Path), help="Also draw times over sizes into this .svg or .png.")
@click.option("--plain", is_flag=True, help="No colour, ASCII only.")
@shared_options
def bench(exercise_id: str, folder: Path | None, json_path: str | None, plot: Path | None, plain: bool) -> int:
    """Time a kernel on this machine's GPU, beside torch's own, over a range of sizes.

    Everybody takes turns, on inputs that change; the results are compared before and after. The roof is measured in the
    same run: how fast this GPU copies, and how fast it multiplies large matrices. Without a GPU, it says what it would
    measure. Nothing is graded. Exit code 1 says that something is wrong, or not started.

    \b
    Examples:
      grade bench flash_attention
      grade bench flash_attention --plot times.svg
      grade bench one_shot_attention --json -
    """
    if plot is not None and plot.suffix not in (".svg", ".png"):
        raise UsageError(f"--plot writes .svg or .png, and {plot.name} is neither.")
    course = current_course()
    exercise = course.exercise(exercise_id)
    benchable(course, exercise)
    handin = folder if folder is not None else assignments(course)
    device, gpu = choose_device("auto")
    if device == "cuda":
        require_machine(device)
    with _progress() as progress:
        found = run_bench(course, handin, exercise, environment(device, gpu), progress)
    text = json.dumps(to_document(found), indent=2) + "\n"
    if json_path == "-":
        click.echo(text, nl=False)
    else:
        print_bench(make_console(sys.stdout, plain), found, plain)
        if json_path is not None:
            write_whole(Path(json_path), text.encode())
    if plot is not None and found.measured:
        panels = [(title_of(series), curves(found, series)) for series in found.series]
        try:
            write_plot(plot, panels, found.length, f"{found.exercise} on {gpu}")
        except OSError as error:
            raise OutputError(f"{plot} cannot be written ({error.strerror}).") from None
    return EXIT_OK if found.all_right else EXIT_NOT_ALL


@contextmanager
def _progress() -> Iterator[Callable[[int, int], None]]:
    """A bar on stderr, where that is a terminal; yields what to call with the cases done and all."""
    if not sys.stderr.isatty():
        yield lambda done, total: None
        return
    with Bar() as bar:
        yield lambda done, total: bar.at(done, total, "measuring")
