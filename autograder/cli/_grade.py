"""``course grade`` and ``course override``: a class's hand-ins to results, and scores set by hand."""

from __future__ import annotations

import contextlib
import os
import re
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import click
from rich.console import Console

from autograder.bulk import hand_ins, submissions
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
from autograder.cli._completion import complete_exercises, complete_lessons
from autograder.cli._say import say
from autograder.cli.common import WholeNumber, current_course, progress_bar, require_machine, shared_options
from autograder.errors import EXIT_NOT_ALL, EXIT_OK, CourseError, EnvironmentProblem, UsageError
from autograder.gpu_targets import default_cache
from autograder.handin import a_few
from autograder.machine import choose_device
from autograder.plan import Reference
from autograder.protocol import printable
from autograder.reports.terminal import make_console, print_run
from autograder.session import DEFAULT_SEED, Grader

_NEGATIVE = re.compile(r"-[\d.,]+")
_LINE_SECONDS = 10.0  # between two lines of progress where there is no terminal


@click.command()
@click.argument("folder", metavar="DIR", type=click.Path(path_type=Path))
@click.option("--out", required=True, type=click.Path(path_type=Path, file_okay=False), help="Where the results go.")
@click.option(
    "--engine", type=click.Choice(["local"]), default="local", show_default=True, help="What spreads the work."
)
@click.option("--workers", type=WholeNumber(1, 256), help="Hand-ins graded at once; default one a core.")
@click.option("--device", type=click.Choice(["auto", "cpu", "cuda"]), default="auto", show_default=True)
@click.option("--seed", type=WholeNumber(0, 2**31 - 1), default=DEFAULT_SEED, show_default=True)
@click.option("--roster", type=click.Path(path_type=Path), help="CSV with ids and extensions; a copy is kept in --out.")
@click.option("--student", "students", multiple=True, metavar="ID", help="Only this student; may be repeated.")
@click.option(
    "--exercise",
    "exercises",
    multiple=True,
    metavar="EXERCISE",
    shell_complete=complete_exercises,
    help="Only this one; may be repeated.",
)
@click.option(
    "--lesson", type=WholeNumber(), shell_complete=complete_lessons, help="Only the exercises of this lesson."
)
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
    workers: int | None,
    device: str,
    seed: int,
    roster: Path | None,
    students: tuple[str, ...],
    exercises: tuple[str, ...],
    lesson: int | None,
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
    """
    course = current_course()
    if out.resolve().is_relative_to(folder.resolve()):
        raise UsageError(f"{out} lies in the folder of the hand-ins, and would be graded as one. Choose another --out.")
    found, notes = hand_ins.list_hand_ins(folder)
    chosen_students = _choose(found, students)
    selected = course.select(exercises, lesson)
    reference = _reference(course)
    chosen, gpu = choose_device(device)
    require_machine(chosen)
    console = make_console(sys.stdout, plain)
    store = Store(out)
    count = min(workers or os.cpu_count() or 1, len(chosen_students))

    missing_layers: dict[str, None] = {}

    def make_grader() -> Grader:
        grader = Grader(
            course,
            chosen,
            gpu,
            # With fewer hand-ins than cores the exercises of one share what is left.
            jobs=max(1, (os.cpu_count() or 1) // count),
            targets="always" if targets else "off",
            target_cache=default_cache(),
            kept=None if replay else store.kept,
        )
        try:
            _require_sandbox(grader, allow_weak_sandbox)
            missing_layers.update(dict.fromkeys(grader.sandbox.missing))
        except BaseException:
            grader.close()
            raise
        return grader

    collected = submissions.load(folder / submissions.COLLECTED)

    def begin() -> None:
        # First of all what is due: whenever this is stopped, no time of handing in meets the result of another attempt.
        store.keep_due(_due_before(store).found(found, folder))
        if roster is not None:
            store.keep_roster(roster)
        if collected:
            store.keep_submissions(collected)

    run = ClassRun(course, store, reference, selected, seed, count, make_grader, regrade, begin)
    if replay:
        return _replay(console, run, chosen_students, plain)
    if roster is not None:
        load_roster(roster)
    for note in notes:
        say(f"Note: {note}", err=True)
    # The bar is gone before it is said how far a stopped run came.
    with _saying_how_far(len(chosen_students)) as counting, _progress(len(chosen_students), plain) as step:
        summary = run.run(chosen_students, counting(step))
    _report(course, store, summary, [one.student for one in found], tuple(missing_layers))
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
            done = f"{student}: {exercise.id} counts as graded again."
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


def _require_sandbox(grader: Grader, allow_weak: bool) -> None:
    weak = grader.sandbox.weak
    if weak and not allow_weak:
        raise EnvironmentProblem(
            f"Too little stands between a hand-in and this machine: {'; '.join(weak)}. "
            "Grade elsewhere, or add --allow-weak-sandbox if you trust every hand-in."
        )


def _replay(console: Console, run: ClassRun, chosen: Sequence[hand_ins.HandInPath], plain: bool) -> int:
    if len(chosen) != 1:
        raise UsageError("A replay is of one student: add --student ID.")
    result, kept = run.replay(chosen[0])
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


def _report(
    course: Course, store: Store, summary: Summary, present: Sequence[str], missing_layers: Sequence[str]
) -> None:
    reader = write_grades(course, store)
    say(f"graded {summary.graded}, unchanged {summary.kept}: {store.grades}")
    if reader.unusable:
        names = ", ".join(printable(name) for name in reader.unusable)
        say(f"nothing usable from: {names}")
    for message in dict.fromkeys(summary.faults.values()):
        names = a_few([printable(student) for student, fault in summary.faults.items() if fault == message])
        say(f"NOT GRADED, through no fault of theirs: {names}: {message}")
    for layer in missing_layers:
        say(f"Note: a layer of the sandbox is missing here: {printable(layer)}")
    for note in reader.notes():
        say(f"Note: {printable(note)}")
    gone = sorted(set(store.students()) - set(present))
    if gone:
        names = ", ".join(gone)
        say(f"a result, and no hand-in any more: {names}")


@contextlib.contextmanager
def _progress(total: int, plain: bool) -> Iterator[Callable[[Progress], None]]:
    """A bar on stderr where that is a terminal, and a line now and then where it is none."""
    if plain or not sys.stderr.isatty():
        yield _Lines(total)
        return
    with progress_bar() as bar:
        task = bar.add_task("starting", total=total)

        def step(progress: Progress) -> None:
            bar.update(task, completed=progress.done, description=progress.student[:30])

        yield step


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


class _Lines:
    """Progress as lines: how many are done, and about how long the rest will take."""

    def __init__(self, total: int) -> None:
        self._begin = self._said = time.monotonic()
        self._graded = 0

    def __call__(self, progress: Progress) -> None:
        now = time.monotonic()
        self._graded += progress.result is not None
        if now - self._said < _LINE_SECONDS or not self._graded or progress.done == progress.total:
            return
        self._said = now
        left = (now - self._begin) / self._graded * (progress.total - progress.done)
        minutes, seconds = divmod(round(left), 60)
        say(f"{progress.done} of {progress.total} done, about {minutes} min {seconds:02d} s left", err=True)
