"""``grade``: what a student types."""

from __future__ import annotations

import contextlib
import difflib
import shlex
import sys
from collections.abc import Collection, Iterator, Sequence
from pathlib import Path
from typing import Any, NoReturn

import click
from click.shell_completion import CompletionItem

from autograder import __version__
from autograder.attempts import Memory
from autograder.catalogue import Course, Exercise
from autograder.cli._bench import bench
from autograder.cli._cases import check_one_case, only_exercise, print_smallest, repro_options, shown_folder
from autograder.cli._completion import complete_checks, complete_exercises, completion_command
from autograder.cli._doctor import doctor
from autograder.cli._list import list_exercises
from autograder.cli._progress import Bar
from autograder.cli._selection import lesson_option
from autograder.cli._submit import submit
from autograder.cli._trace import trace
from autograder.cli._watch import watch
from autograder.cli.common import (
    WholeNumber,
    assignments,
    current_course,
    describe,
    require_machine,
    run,
    shared_options,
)
from autograder.errors import EXIT_NOT_ALL, EXIT_OK, UsageError
from autograder.gpu_targets import default_cache
from autograder.machine import choose_device, environment
from autograder.protocol import printable
from autograder.release.files import write_whole
from autograder.reports.terminal import make_console, print_run
from autograder.result import ExerciseResult, RunResult, Sandbox, to_json
from autograder.session import DEFAULT_SEED, Grader, Request

_FILES = (".py", ".ipynb", ".zip")


class _CheckByDefault(click.Group):
    """A group in which ``grade [OPTIONS] [EXERCISE]...`` means ``grade check ...``."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        place = 0
        while place < len(args):
            word = args[place]
            if word == "--root":
                place += 2
            elif word == "--debug" or word.startswith("--root="):
                place += 1
            else:
                break
        if place >= len(args) and ctx.resilient_parsing:  # the shell completes the first word: it may be a command
            return super().parse_args(ctx, args)
        if place >= len(args) or args[place] not in (*self.commands, "--help", "-h", "--version"):
            args = [*args[:place], "check", *args[place:]]
        return super().parse_args(ctx, args)

    def shell_complete(self, ctx: click.Context, incomplete: str) -> list[CompletionItem]:
        """Commands, and what `grade check` takes."""
        check = self.commands["check"]
        found = [*super().shell_complete(ctx, incomplete)]
        with check.make_context("check", [], parent=ctx, resilient_parsing=True) as inner:
            found += check.shell_complete(inner, incomplete)
            if not incomplete.startswith("-"):
                found += check.params[0].shell_complete(inner, incomplete)
        return list({item.value: item for item in reversed(found)}.values())[::-1]


@click.group(cls=_CheckByDefault, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, prog_name="grade")
@shared_options
def cli() -> None:
    """Grade your kernels: `grade`, or `grade check EXERCISE`.

    `grade` takes the options of `grade check`: --dir grades another folder, file, notebook or zip, --lesson one
    lesson, --device says where kernels run, --seed draws other inputs, --json writes the result.
    `grade check --help` explains them all.

    \b
    Examples:
      grade                        every exercise, and the first open one's story
      grade score_mask             one exercise
      grade --lesson 7 --device cpu
      grade --dir my_work.ipynb --seed 3
      grade watch                  grade on every save
      grade hint score_mask        the first of three hints
      grade trace flash_attention  a streaming kernel's state, chunk by chunk
      grade bench flash_attention  its speed beside torch's, on a GPU
      grade submit                 make the zip to hand in
      grade doctor                 what this machine has, and what it lacks
    """


@cli.command()
@click.argument("exercises", nargs=-1, metavar="[EXERCISE]...", shell_complete=complete_exercises)
@click.option("--dir", "folder", type=click.Path(path_type=Path), help="What to grade: a folder, .py, .ipynb or .zip.")
@lesson_option
@click.option(
    "--device",
    type=click.Choice(["auto", "cpu", "cuda"]),
    default="auto",
    show_default=True,
    help="Where kernels run: cpu is Triton's interpreter.",
)
@click.option(
    "--seed", type=WholeNumber(0, 2**31 - 1), default=DEFAULT_SEED, show_default=True, help="Seed of the inputs."
)
@click.option("--json", "json_path", metavar="PATH|-", help="Write the result as JSON; with - stdout holds it alone.")
@click.option("--plain", is_flag=True, help="No colour, ASCII only.")
@click.option(
    "--targets/--no-targets",
    default=True,
    show_default=True,
    help="Also compile for the course's GPUs, which need not be here.",
)
@click.option("--smallest", is_flag=True, help="Search for the smallest case on which the first failing check fails.")
@click.option(
    "--case",
    "case_id",
    metavar="CHECK",
    shell_complete=complete_checks,
    help="Run the case of this check by itself; counts for nothing.",
)
@click.option("--set", "settings", multiple=True, metavar="NAME=VALUE", help="Make that case smaller; may be repeated.")
@shared_options
def check(
    exercises: tuple[str, ...],
    folder: Path | None,
    lessons: tuple[int, ...],
    device: str,
    seed: int,
    json_path: str | None,
    plain: bool,
    targets: bool,
    smallest: bool,
    case_id: str | None,
    settings: tuple[str, ...],
) -> int:
    """Grade exercises: one line each, the total, and the full story of the first one that is not passed.

    \b
    Examples:
      grade check
      grade check online_softmax_update --seed 3
      grade check --dir solutions --json -
      grade check score_mask --smallest
      grade check score_mask --case ghosts --set nseq=17
    """
    _refuse_other_options(smallest, case_id, settings, json_path)
    to_stdout = json_path == "-"
    course = None
    try:
        course = current_course()
        _refuse_other_words(course, exercises)
        selected = course.select(exercises, lessons)
        handin = folder if folder is not None else assignments(course)
        chosen, gpu = choose_device(device)
        require_machine(chosen)
        when = "always" if targets else "off"
        request = Request(handin, selected, seed, repro_options=repro_options(folder))
        if case_id is not None:
            only_exercise(selected)  # before a worker is started
            with Grader(course, chosen, gpu, targets="off") as grader:
                return check_one_case(course, grader, request, case_id, settings)
        with Grader(course, chosen, gpu, targets=when, target_cache=default_cache()) as grader:
            with _progress(len(selected), silent=to_stdout or plain) as step:
                result = grader.grade(request, step)
            remarks = Memory(course, handin).take(result)
            if smallest:
                print_run(make_console(sys.stdout, plain), result, plain, remarks, shown_folder(folder))
                print_smallest(course, grader, request, result)
                return EXIT_OK if result.all_passed else EXIT_NOT_ALL
    except Exception as error:
        if json_path is not None:
            _write_json(json_path, _failed(course, seed, device, describe(error)))
        raise
    if json_path is not None:  # before anything is printed: the reader of a pipe may go away
        _write_json(json_path, result)
    if not to_stdout:
        print_run(make_console(sys.stdout, plain), result, plain, remarks, shown_folder(folder))
    return EXIT_OK if result.all_passed else EXIT_NOT_ALL


def _refuse_other_options(smallest: bool, case: str | None, settings: Sequence[str], json_path: str | None) -> None:
    """Options that do not go together.

    Raises:
        UsageError: there are such.
    """
    if settings and case is None:
        raise UsageError("--set changes a case: name its check with --case.")
    if (smallest or case is not None) and json_path is not None:
        raise UsageError("--smallest and --case are for reading: they write no JSON.")
    if smallest and case is not None:
        raise UsageError("--smallest starts from a check that fails, and --case runs one case: give one of them.")


def _refuse_other_words(course: Course, words: Sequence[str]) -> None:
    """Where a word is no exercise but a lesson, a file or a slip in a command's name, say what to type.

    Raises:
        UsageError: there is such a word.
    """
    known = {exercise.id for exercise in course.exercises}
    word = next((word for word in words if word not in known), None)
    if word is None or (meant := _meant(course, known, word)) is None:
        return
    raise UsageError(f"There is no exercise called {word!r}. {meant}")


def _meant(course: Course, exercises: Collection[str], word: str) -> str | None:
    """What may be meant by a word that is no exercise; None if it is most like an exercise, or like nothing."""
    if word.isdecimal() and int(word) in {lesson.number for lesson in course.lessons}:
        return f"A lesson is graded with `grade --lesson {int(word)}`."
    if word == "help":
        return "Did you mean `grade --help`?"
    if "/" in word or word.endswith(_FILES):
        return _graded_by_dir(word)
    close = difflib.get_close_matches(word, [*cli.commands, *exercises], 1)
    if close and close[0] in cli.commands:
        return f"Did you mean `grade {close[0]}`?"
    return None if close or not Path(word).exists() else _graded_by_dir(word)


def _graded_by_dir(word: str) -> str:
    return f"A file or folder is graded with `grade --dir {printable(shlex.quote(word))}`."


@cli.command()
@click.argument("exercise_id", metavar="EXERCISE", shell_complete=complete_exercises)
@click.option("--level", type=WholeNumber(1, 3), default=1, show_default=True, help="1 is a nudge, 3 is almost there.")
@shared_options
def hint(exercise_id: str, level: int) -> int:
    """Show one of an exercise's three hints.

    \b
    Examples:
      grade hint score_mask
      grade hint score_mask --level 2
    """
    from autograder.texts import read_hints

    exercise = current_course().exercise(exercise_id)
    hints = read_hints(exercise)
    click.echo(hints[level - 1])
    if level < len(hints):
        click.echo(f"\nThe next hint: grade hint {exercise.id} --level {level + 1}")
    return EXIT_OK


@cli.command()
@click.argument("exercise_id", metavar="EXERCISE", shell_complete=complete_exercises)
@click.option(
    "--dir", "folder", type=click.Path(path_type=Path), help="The folder with your files; default assignments."
)
@click.option("--yes", is_flag=True, help="Do not ask.")
@shared_options
def reset(exercise_id: str, folder: Path | None, yes: bool) -> int:
    """Put an exercise's functions back to the stub; a copy of your file is kept beside it.

    If your file is missing, or no text, the whole stub takes its place.

    \b
    Example:
      grade reset score_mask
    """
    from autograder.release.reset import is_reset_whole, reset_exercise

    course = current_course()
    exercise = course.exercise(exercise_id)
    path = _work_file(course, exercise, folder)
    if not yes and not _agreed(exercise, path, is_reset_whole(path)):
        click.echo("Nothing changed.")
        return EXIT_NOT_ALL
    done = reset_exercise(course, exercise, path)
    if done.whole:
        click.echo(f"All of {path} is as it was handed out.")
    elif done.copy is None:
        click.echo(f"{exercise.id} is as it was handed out already.")
    else:
        click.echo(f"{exercise.id} is as it was handed out.")
    if done.copy is not None:
        click.echo(f"Your work is kept in {done.copy}.")
    return EXIT_OK


def _agreed(exercise: Exercise, path: Path, whole: bool) -> bool:
    """Say what would be done, and ask.

    Raises:
        UsageError: there is nobody to answer.
    """
    names = ", ".join(function.name for function in exercise.functions)
    if not path.exists():
        click.echo(f"There is no {path}: the whole stub will be put there.")
    elif whole:
        click.echo(f"{path} is no text: the whole stub will take its place; your file is copied first.")
    else:
        click.echo(f"{names} in {path} will be put back to the stub; your file is copied first.")
    try:
        return click.confirm("Go on?")
    except click.Abort:
        if sys.stdin is not None and sys.stdin.isatty():
            raise
        click.echo()
        raise UsageError("Nobody answered, so nothing changed. Without a terminal, add --yes.") from None


def _work_file(course: Course, exercise: Exercise, folder: Path | None) -> Path:
    """The .py that is reset.

    Raises:
        UsageError: a notebook or a zip is named, which reset does not write.
    """
    base = folder if folder is not None else course.root / "assignments"
    if base.suffix != ".py" and base.is_file():
        raise UsageError(f"{base} is no .py, and reset puts back nothing else. Name a folder or a .py with --dir.")
    return base if base.suffix == ".py" else base / exercise.stub


@contextlib.contextmanager
def _progress(total: int, silent: bool) -> Iterator[Any]:
    """A bar on stderr, where that is a terminal; yields what to call with each result."""
    if silent or not sys.stderr.isatty():
        yield None
        return
    with Bar(total) as bar:
        done = 0

        def step(result: ExerciseResult) -> None:
            # Pieces that a kernel calls are graded too, and come on top of what was asked for.
            nonlocal done
            done += 1
            bar.at(done, max(total, done), result.id)

        yield step


def _failed(course: Course | None, seed: int, device: str, message: str) -> RunResult:
    """The document of a run that could not begin."""
    return RunResult(
        kit_version=__version__,
        course_title=course.title if course is not None else None,
        seed=seed,
        hidden=False,
        environment=environment("cpu" if device == "auto" else device, None),
        sandbox=Sandbox(),
        exercises=(),
        error=message,
    )


def _write_json(path: str, result: RunResult) -> None:
    """Write the document to a file, whole or not at all, or to stdout for ``-``."""
    if path == "-":
        click.echo(to_json(result), nl=False)
    else:
        write_whole(Path(path), to_json(result).encode())


cli.add_command(list_exercises)
cli.add_command(submit)
cli.add_command(doctor)
cli.add_command(trace)
cli.add_command(bench)
cli.add_command(watch)
cli.add_command(completion_command("grade"))


def main() -> NoReturn:
    """The console script."""
    run(cli, "grade")


if __name__ == "__main__":
    main()
