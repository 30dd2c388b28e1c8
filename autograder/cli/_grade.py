"""``course grade`` and ``course override``: a class's hand-ins to results, and scores set by hand."""

from __future__ import annotations

import contextlib
import re
import shlex
import sys
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import click
from rich.console import Console

from autograder.bulk import hand_ins, submissions
from autograder.bulk.desk import Work, replayed
from autograder.bulk.due import Due
from autograder.bulk.grading import ClassRun, Progress, Summary
from autograder.bulk.overrides import (
    Override,
    called_as,
    changing_overrides,
    exact,
    load_overrides,
    no_score,
    points_of,
    save_overrides,
)
from autograder.bulk.roster import load_roster
from autograder.bulk.secret import load_secret
from autograder.bulk.store import Store
from autograder.bulk.table import write_grades
from autograder.catalogue import Course
from autograder.cli._completion import complete_exercises
from autograder.cli._engine import EngineOptions, engine_options, local_maker, make_engine
from autograder.cli._progress import progress_of
from autograder.cli._say import say
from autograder.cli._selection import exercise_option, lesson_option
from autograder.cli.common import WholeNumber, current_course, shared_options
from autograder.errors import EXIT_NOT_ALL, EXIT_OK, CourseError, UsageError
from autograder.handin import a_few
from autograder.plan import Reference
from autograder.protocol import printable
from autograder.reports.terminal import make_console, print_run
from autograder.session import DEFAULT_SEED

_LINE_SECONDS = 10.0  # without another result, after which it is said who is waited for
_NEGATIVE = re.compile(r"-[\d.,]+")


@click.command()
@click.argument("folder", metavar="DIR", type=click.Path(path_type=Path))
@click.option("--out", required=True, type=click.Path(path_type=Path, file_okay=False), help="Where the results go.")
@click.option(
    "--engine", type=click.Choice(["local", "dask"]), default="local", show_default=True, help="What spreads the work."
)
@engine_options
@click.option(
    "--workers", type=WholeNumber(1, 4096), help="Hand-ins graded at once; default one a core, or all of a cluster."
)
@click.option("--device", type=click.Choice(["auto", "cpu", "cuda"]), default="auto", show_default=True)
@click.option("--seed", type=WholeNumber(0, 2**31 - 1), default=DEFAULT_SEED, show_default=True)
@click.option("--roster", type=click.Path(path_type=Path), help="CSV with ids and extensions; a copy is kept in --out.")
@click.option("--student", "students", multiple=True, metavar="ID", help="Only this student; may be repeated.")
@exercise_option
@lesson_option
@click.option("--replay", is_flag=True, help="Grade one student again, show the whole story, and keep nothing.")
@click.option("--regrade", is_flag=True, help="Grade everyone again, changed or not.")
@click.option("--targets/--no-targets", default=True, show_default=True, help="Also compile for the course's GPUs.")
@click.option("--allow-weak-sandbox", is_flag=True, help="Grade even where too little stands around a hand-in.")
@click.option("--plain", is_flag=True, help="No colour, no bar, ASCII only.")
@shared_options
def grade(
    folder: Path,
    out: Path,
    engine: str,
    scheduler: str | None,
    scheduler_file: Path | None,
    slurm: bool,
    certificates: Path | None,
    tls: bool,
    workers: int | None,
    device: str,
    seed: int,
    roster: Path | None,
    students: tuple[str, ...],
    exercises: tuple[str, ...],
    lessons: tuple[int, ...],
    replay: bool,
    regrade: bool,
    targets: bool,
    allow_weak_sandbox: bool,
    plain: bool,
) -> int:
    """Grade a class: DIR holds one folder or file a student, and its name is the student's id.

    Only what is missing or changed is graded; stop it whenever you like and run it again.

    \b
    Examples:
      course grade hand-ins --out results
      course grade hand-ins --out results --roster roster.csv --workers 8
      course grade hand-ins --out results --student doejane_1234 --replay
      course grade hand-ins --out results --engine dask --scheduler login1:8786
    """
    course = current_course()
    if out.resolve().is_relative_to(folder.resolve()):
        raise UsageError(f"{out} lies in the folder of the hand-ins, and would be graded as one. Choose another --out.")
    found, notes = hand_ins.list_hand_ins(folder)
    chosen_students = _choose(found, students)
    selected = course.select(exercises, lessons)
    reference = _reference(course)
    asked = EngineOptions(
        engine, workers, device, targets, allow_weak_sandbox, scheduler, scheduler_file, slurm, certificates, tls
    )
    asked.require_sense()
    console = make_console(sys.stdout, plain)
    store = Store(out)
    work = Work(course, store, reference, selected, seed, regrade)
    if replay:
        return _replay(console, work, asked, chosen_students, plain)
    view = progress_of(len(chosen_students), plain)
    run_by = make_engine(asked, work, folder, len(chosen_students), view.wait)
    collected = submissions.load(folder / submissions.COLLECTED)

    def begin() -> None:
        # First of all what is due: whenever this is stopped, no time of handing in meets the result of another attempt.
        store.keep_due(_due_before(store).found(found, folder))
        if roster is not None:
            store.keep_roster(roster)
        if collected:
            store.keep_submissions(collected)

    if roster is not None:
        load_roster(roster)
    for note in notes:
        say(f"Note: {note}", err=True)
    # The bar is gone before it is said how far a stopped run came.
    with _saying_how_far(len(chosen_students)) as counting, view:

        def step(progress: Progress) -> None:
            title = "the last of them" if progress.last else progress.student
            view.at(progress.done, title=title, fresh=progress.fresh)
            if progress.last:
                view.wait(f"Waiting for {a_few(progress.last)}", _LINE_SECONDS)

        summary = ClassRun(work, run_by, begin).run(chosen_students, counting(step))
    _report(course, store, summary, [one.student for one in found])
    return EXIT_OK if not summary.faults else EXIT_NOT_ALL


class _NegativeToo(click.Command):
    """Takes ``-1`` for a score that is wrong, where click would take it for an option."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        for before, word in zip(["", *args], args, strict=False):
            if _NEGATIVE.fullmatch(word) and before != "--reason":
                raise UsageError(no_score(word))
        return super().parse_args(ctx, args)


@click.command(cls=_NegativeToo)
@click.argument("out", metavar="OUT", type=click.Path(path_type=Path, file_okay=False))
@click.argument("student", metavar="STUDENT")
@click.argument("exercise_id", metavar="EXERCISE", shell_complete=complete_exercises)
@click.argument("score_text", metavar="[SCORE]", required=False)
@click.option("--reason", help="Why; the student reads it in the feedback.")
@click.option("--remove", is_flag=True, help="Take the override back.")
@shared_options
def override(
    out: Path, student: str, exercise_id: str, score_text: str | None, reason: str | None, remove: bool
) -> int:
    """Set a student's score of one exercise by hand, in points; grading again keeps it.

    \b
    Examples:
      course override results doejane_1234 score_mask 1 --reason "Right idea."
      course override results doejane_1234 score_mask --remove
    """
    course = current_course()
    exercise = course.exercise(exercise_id)
    store = Store(out)
    score = points_of(score_text) if score_text is not None else None
    if not store.students():
        raise UsageError(f"There are no results in {out}. Name the folder that `course grade` wrote with --out.")
    if student not in store.students():
        raise UsageError(
            f"There is no result of {printable(student)} in {out}. Ids are the names of the files in {store.results}."
        )
    if not remove and (score is None or not (reason or "").strip()):
        raise UsageError(
            "An override needs a score and a reason: course override OUT STUDENT EXERCISE SCORE --reason TEXT."
        )
    with changing_overrides(store.overrides):
        loaded = called_as(load_overrides(store.overrides), store.students())
        overrides = {name: dict(of_student) for name, of_student in loaded.items()}
        mine = overrides.setdefault(student, {})
        if remove:
            if mine.pop(exercise.id, None) is None:
                raise UsageError(f"There is no override of {exercise.id} for {printable(student)}.")
            result = store.read(student)
            graded = result is not None and exercise.id in {item.id for item in result.exercises}
            done = f"{student}: {exercise.id} {'counts as graded' if graded else 'has no score'} again."
        else:
            assert score is not None
            old = mine.get(exercise.id)
            mine[exercise.id] = Override(student, exercise.id, score, " ".join(str(reason).split()))
            beyond = f" That is more than its {exercise.points:g}." if score > exercise.points else ""
            done = f"{student}: {exercise.id} counts {exact(score)} points from now on.{beyond}"
            done += f" Before it was {exact(old.score)} ({old.reason})." if old is not None else ""
        save_overrides(store.overrides, overrides)
        if student in write_grades(course, store).waiting and not remove:
            done += " The hand-in is not graded yet: the score counts when it is."
    say(printable(done))
    return EXIT_OK


def _choose(found: Sequence[hand_ins.HandInPath], students: Sequence[str]) -> tuple[hand_ins.HandInPath, ...]:
    known = {one.student: one for one in found}
    for student in students:
        if student not in known:
            raise UsageError(f"There is no hand-in of {student!r}. The ids are the names in the folder.")
    return tuple(one for one in found if not students or one.student in students)


def _reference(course: Course) -> Reference:
    solutions = course.root / "solutions"
    if not solutions.is_dir():
        raise CourseError("This course has no solutions folder. Only the instructor's copy can grade a class.")
    return Reference.load(course, load_secret(solutions / ".secret"))


def _due_before(store: Store) -> Due:
    """What the run before found; nothing if that cannot be read any more, since this run says it anew."""
    try:
        return store.due()
    except UsageError:
        return Due()


def _replay(
    console: Console, work: Work, asked: EngineOptions, chosen: Sequence[hand_ins.HandInPath], plain: bool
) -> int:
    if len(chosen) != 1:
        raise UsageError("A replay is of one student: add --student ID.")
    if asked.engine != "local":
        raise UsageError("A replay runs on this machine: leave out --engine and what goes with it.")
    make = local_maker(asked, work, 1, keep=False)
    with make() as grader:
        result, kept = replayed(work, grader, chosen[0], f" --dir {shlex.quote(str(chosen[0].path))}")
    print_run(console, result, plain)
    before = {exercise.id: exercise for exercise in kept.exercises} if kept is not None else {}
    console.print()
    for exercise in result.exercises:
        old = before.get(exercise.id)
        if old is None:
            text = "no result is kept to compare with"
        elif (old.outcome, old.score) == (exercise.outcome, exercise.score):
            text = f"as in the kept result: {old.outcome}, {old.score:g} points"
        else:
            text = (
                f"the kept result says {old.outcome}, {old.score:g} points; now {exercise.outcome}, {exercise.score:g}"
            )
        say(f"{exercise.id}: {text}")
    return EXIT_OK if result.all_passed else EXIT_NOT_ALL


def _report(course: Course, store: Store, summary: Summary, present: Sequence[str]) -> None:
    reader = write_grades(course, store)
    say(f"graded {summary.graded}, unchanged {summary.kept}: {store.grades}")
    if reader.unusable:
        names = ", ".join(printable(name) for name in reader.unusable)
        say(f"nothing usable from: {names}")
    for student, sentence in reader.unread.items():
        say(f"not read, and nothing else usable, from {printable(student)}: {printable(sentence)}")
    for message in dict.fromkeys(summary.faults.values()):
        names = a_few([printable(student) for student, fault in summary.faults.items() if fault == message])
        say(f"NOT GRADED, through no fault of theirs: {names}: {message}")
    for layer in summary.missing:
        say(f"Note: a layer of the sandbox is missing here: {printable(layer)}")
    for note in reader.notes():
        say(f"Note: {printable(note)}")
    if count := reader.without_total:
        say(
            f"Note: {count} {'has' if count == 1 else 'have'} no total in {store.grades.name}, since some exercises "
            "were never graded. `course export --lesson` hands on the grades of a lesson alone."
        )
    gone = sorted(set(store.students()) - set(present))
    if gone:
        names = ", ".join(gone)
        say(f"a result, and no hand-in any more: {names}")


_Step = Callable[[Progress], None]


@contextlib.contextmanager
def _saying_how_far(total: int) -> Iterator[Callable[[_Step], _Step]]:
    """Makes a step count what is done, and says it if the run is stopped."""
    done = 0

    def counting(step: _Step) -> _Step:
        def counted(progress: Progress) -> None:
            nonlocal done
            done = progress.done
            step(progress)

        return counted

    try:
        yield counting
    except KeyboardInterrupt:
        say(f"{done} of {total} hand-ins are done. Run the same command again for the rest.", err=True)
        raise
