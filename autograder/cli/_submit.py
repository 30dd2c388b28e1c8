"""``grade submit``: pack the hand-in, and say what was packed and where."""

from __future__ import annotations

import datetime
from collections.abc import Iterator, Sequence
from pathlib import Path

import click

from autograder.catalogue import Course
from autograder.cli.common import assignments, current_course, require_machine, shared_options
from autograder.errors import EXIT_OK, AutograderError, HandInError
from autograder.plan import Plan, plan_exercises, started_in
from autograder.protocol import printable
from autograder.result import RunResult


@click.command()
@click.option(
    "--dir", "folder", type=click.Path(path_type=Path), help="Your files, a folder or one file; default assignments."
)
@click.option("--out", type=click.Path(path_type=Path), help="The zip to write; default: in the current folder.")
@click.option("--no-grade", is_flag=True, help="Do not grade first; the manifest then holds no score.")
@click.option("--plain", is_flag=True, help="No colour, ASCII only.")
@shared_options
def submit(folder: Path | None, out: Path | None, no_grade: bool, plain: bool) -> int:
    """Make the zip to hand in: your files as they are, and a manifest. Nothing is sent anywhere.

    Files that are not started or do not parse are packed too. Your public score is noted in the manifest for you;
    the course grades the files themselves.

    \b
    Examples:
      grade submit
      grade submit --dir my_work --out lesson7.zip --no-grade
    """
    from autograder.machine import environment
    from autograder.release import submit as packing

    course = current_course()
    handin = folder if folder is not None else assignments(course)
    files, passed_over = packing.gather(handin)
    target = _target(course, handin, out)
    packing.refuse_target(target)
    score = None if no_grade else _public_run(course, handin)
    made_with = score.environment if score is not None else environment("cpu", None)
    now = datetime.datetime.now(datetime.UTC)
    packed = packing.submit(course, files, target, made_with, score, now, started_in(course))
    click.echo(
        f"Packed {len(packed.files)} file{'s' if len(packed.files) != 1 else ''} into {_on_one_line(packed.path)}:"
    )
    for name, size in packed.files.items():
        click.echo(f"  {name}  ({size:,} bytes)")
    for place, source in packed.read_as.items():
        if source != place:
            click.echo(f"For {place} the course will read {source}.")
    for place in (stub for stub in dict.fromkeys(e.stub for e in course.exercises) if stub not in packed.read_as):
        click.echo(f"Nothing in it is for {place}.")
    if score is not None:
        points = f"{round(score.score, 2):g} of {round(score.points, 2):g} points"
        click.echo(f"Public checks: {points}. Hidden checks run when the course grades.")
    plans = _plans(course, handin)
    for note in dict.fromkeys((*passed_over, *packed.notes, *_unreadable(plans))):
        click.echo(f"Note: {note}")
    if packed.path.resolve().is_relative_to(handin.resolve()):
        click.echo("Note: this zip lies among your files, where the next `grade` may read it. Move it elsewhere.")
    if plans and all(plan.outcome == "not-started" for plan in plans):
        click.echo("Note: nothing in it is started: every exercise is as it was handed out. Is --dir the right folder?")
    click.echo("Hand in this one file.")
    return EXIT_OK


def _on_one_line(path: Path) -> str:
    return printable(str(path)).replace("\n", "\ufffd")


def _plans(course: Course, handin: Path) -> tuple[Plan, ...]:
    try:
        return plan_exercises(course, handin, course.exercises, None)[0]
    except HandInError:  # nothing of the course is in it, which is said already
        return ()


def _unreadable(plans: Sequence[Plan]) -> Iterator[str]:
    """Sentences about exercises that cannot be graded as they are: lines that do not parse, and what is refused."""
    for plan in plans:
        if plan.outcome in ("compile-error", "refused"):
            yield f"{plan.exercise.id} cannot be graded as it is. {plan.message}"


def _target(course: Course, handin: Path, out: Path | None) -> Path:
    from autograder.release import submit as packing

    default = packing.default_out(course, handin, Path.cwd())
    if out is None:
        here = Path.cwd().resolve()
        return default.relative_to(here) if default.is_relative_to(here) else default
    if out.is_dir():
        return out / default.name
    return out if out.suffix.lower() == ".zip" else out.with_name(f"{out.name}.zip")


def _public_run(course: Course, handin: Path) -> RunResult | None:
    """The public score, as a courtesy: whatever goes wrong with it, the hand-in is packed all the same."""
    from autograder.gpu_targets import default_cache
    from autograder.machine import choose_device
    from autograder.session import Grader, Request

    try:
        chosen, gpu = choose_device("auto")
        require_machine(chosen)
        with Grader(course, chosen, gpu, target_cache=default_cache()) as grader:
            return grader.grade(Request(handin, course.exercises))
    except AutograderError as error:
        click.echo(f"Note: your files could not be graded here, and are packed without a score. {error}", err=True)
        return None
