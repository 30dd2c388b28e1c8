"""``course release``: the stubs, the zip for students, and what other tools grade with."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import click

from autograder.catalogue import Course
from autograder.cli._completion import complete_lessons
from autograder.cli._say import say
from autograder.cli.common import WholeNumber, current_course, shared_options
from autograder.errors import EXIT_OK, UsageError
from autograder.gradescope import VISIBILITIES, make_package
from autograder.release import bundle, nbgrader
from autograder.release.files import write_whole


@click.command()
@click.option("--out", type=click.Path(path_type=Path, file_okay=False), help="Where the zip goes.")
@click.option(
    "--wheel", type=click.Path(path_type=Path, dir_okay=False), help="The kit's wheel, if it is built already."
)
@click.option("--stubs-only", is_flag=True, help="Write assignments/ anew and nothing else.")
@click.option(
    "--to",
    "target",
    type=click.Choice(["students", "gradescope"]),
    default="students",
    show_default=True,
    help="Whose zip it is: gradescope's is an autograder, for instructors only.",
)
@click.option(
    "--hidden-checks",
    type=click.Choice(VISIBILITIES),
    help="Gradescope: when students see what hidden checks gave.  [default: after_published]",
)
@click.option(
    "--lesson",
    type=WholeNumber(),
    help="Gradescope: only the exercises of this lesson.  [default: all lessons]",
    shell_complete=complete_lessons,
)
@click.option(
    "--nbgrader",
    "nbgrader_folder",
    metavar="DIR",
    type=click.Path(path_type=Path, file_okay=False),
    help="Write source notebooks into nbgrader's course folder DIR.",
)
@shared_options
def release(
    out: Path | None,
    wheel: Path | None,
    stubs_only: bool,
    target: str,
    hidden_checks: str | None,
    lesson: int | None,
    nbgrader_folder: Path | None,
) -> int:
    """Make what students get: the stubs in assignments/, and a zip to hand out; refuse if a solution would leak.

    With --to gradescope the zip is an autograder to upload there. It holds solutions and hidden checks.
    With --nbgrader no zip is made, but an assignment for nbgrader, a notebook a lesson.

    \b
    Examples:
      course release --out dist
      course release --out dist --wheel dist/my_build-0.1.0-py3-none-any.whl
      course release --stubs-only
      course release --to gradescope --out instructor
      course release --to gradescope --lesson 7 --out instructor
      course release --nbgrader nbgrader-course
    """
    course = current_course()
    if stubs_only and (out is not None or wheel is not None or target != "students"):
        raise UsageError("--stubs-only makes no bundle: leave it out, or leave out --out, --wheel and --to.")
    if hidden_checks is not None and target != "gradescope":
        raise UsageError("--hidden-checks means something only with --to gradescope. Leave it out.")
    if lesson is not None and target != "gradescope":
        raise UsageError("--lesson means something only with --to gradescope. Leave it out.")
    if not (course.root / "solutions").is_dir():
        raise UsageError("This course has no solutions folder. Only the instructor's copy can be released.")
    if nbgrader_folder is not None:
        if out is not None or wheel is not None or stubs_only or target != "students":
            raise UsageError("--nbgrader makes no zip: leave out --out, --wheel, --stubs-only and --to.")
        return _nbgrader(course, nbgrader_folder)
    if stubs_only:
        _say_stubs(bundle.write_stubs(course))
        return EXIT_OK
    if out is None:
        raise UsageError("Say where the zip goes with --out DIR, or use --stubs-only.")
    if target == "gradescope":
        return _gradescope(course, out, hidden_checks or VISIBILITIES[0], wheel, lesson)
    made, path, stubs = bundle.release(course, out, wheel)
    _say_stubs(stubs)
    say(f"wrote {path}: {len(made.files)} files, {len(made.data) / 1000:.0f} kB, no leak found")
    return EXIT_OK


def _say_stubs(stubs: Mapping[str, Path | None]) -> None:
    for stub, copy in stubs.items():
        click.echo(f"wrote assignments/{stub}" + (f"; what was there is kept in {copy.name}" if copy else ""))


def _gradescope(course: Course, out: Path, hidden_checks: str, wheel: Path | None, lesson: int | None) -> int:
    package = make_package(course, hidden_checks, wheel, lesson)
    try:
        out.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise UsageError(f"The folder {out} cannot be made ({(error.strerror or str(error)).lower()}).") from error
    path = out / package.name
    write_whole(path, package.data)
    say(f"wrote {path}: {len(package.files)} files, {len(package.data) / 1000:.0f} kB")
    say(
        "It holds the solutions, the hidden checks and the secret: upload it to Gradescope, and give it to nobody else."
    )
    return EXIT_OK


def _nbgrader(course: Course, folder: Path) -> int:
    made = nbgrader.write_assignment(course, folder)
    for path in made.notebooks:
        say(f"wrote {path}")
    for path in made.kept:
        say(f"kept what was there as {path}")
    if made.config is None:
        say(f"Note: {folder / nbgrader.CONFIG} is your own. It needs {nbgrader.needed_settings()}.", err=True)
    say(f"They hold the solutions. What `nbgrader generate_assignment {made.name}` makes of them is for students.")
    return EXIT_OK
