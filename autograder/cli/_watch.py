"""``grade watch``: grade on every save."""

from __future__ import annotations

import sys
from pathlib import Path

import click

from autograder.cli._cases import repro_options, shown_folder
from autograder.cli._completion import complete_exercises
from autograder.cli.common import WholeNumber, assignments, current_course, require_machine, shared_options
from autograder.errors import UsageError
from autograder.machine import choose_device
from autograder.protocol import printable
from autograder.reports.terminal import make_console
from autograder.session import DEFAULT_SEED


@click.command()
@click.argument("exercise_id", metavar="[EXERCISE]", required=False, shell_complete=complete_exercises)
@click.option("--dir", "folder", type=click.Path(path_type=Path), help="What to watch: a folder, .py, .ipynb or .zip.")
@click.option("--device", type=click.Choice(["auto", "cpu", "cuda"]), default="auto", show_default=True)
@click.option(
    "--seed", type=WholeNumber(0, 2**31 - 1), default=DEFAULT_SEED, show_default=True, help="Seed of the inputs."
)
@click.option("--targets/--no-targets", default=True, show_default=True, help="Also compile for the course's GPUs.")
@click.option("--plain", is_flag=True, help="No colour, ASCII only.")
@shared_options
def watch(exercise_id: str | None, folder: Path | None, device: str, seed: int, targets: bool, plain: bool) -> int:
    """Grade one exercise each time you save, and go on to the next when it passes.

    It begins with the first exercise that is not passed, or with the one that is named. A worker stays warm, so that a
    verdict takes a fraction of a second on CPU; compiling for the course's GPUs follows it, and the next save puts an
    end to it.

    \b
    Keys: h hint, t trace, l list, n next, p previous, r run again, q quit

    \b
    Examples:
      grade watch
      grade watch score_mask
      grade watch --dir my_work.ipynb --device cpu --no-targets
    """
    from autograder.watch import Settings
    from autograder.watch import watch as run_watch

    course = current_course()
    start = course.exercise(exercise_id) if exercise_id is not None else None
    handin = folder if folder is not None else assignments(course)
    if folder is not None and not folder.exists():
        raise UsageError(f"There is no file or folder {printable(str(folder))} to watch.")
    chosen, gpu = choose_device(device)
    require_machine(chosen)
    if not any(chosen in item.devices for item in ((start,) if start is not None else course.exercises)):
        raise UsageError(f"{start.id if start else 'No exercise of this course'} runs on this machine's {chosen}.")
    place = printable(str(folder)) if folder is not None else "assignments"
    settings = Settings(
        course,
        handin,
        place,
        chosen,
        gpu,
        seed,
        start,
        targets,
        plain,
        repro_options=repro_options(folder),
        folder=shown_folder(folder),
    )
    return run_watch(settings, make_console(sys.stdout, plain))
