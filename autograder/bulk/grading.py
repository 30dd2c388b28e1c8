"""Grade a class: several hand-ins at once, each written when it is done, and nothing graded twice.

Whatever stops a run, kill -9 included, loses only the hand-ins it was at: results are files that are whole or not
there, and each holds the fingerprints by which the next run knows what is still as it was.
"""

from __future__ import annotations

import os
import shlex
import threading
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path

from autograder import __version__
from autograder.bulk.due import HAND_IN
from autograder.bulk.hand_ins import HandInPath, fingerprint
from autograder.bulk.skew import version_note
from autograder.bulk.store import Store
from autograder.catalogue import Course, Exercise
from autograder.errors import CourseError, HandInError, UsageError, WorkerError
from autograder.kept import key_of
from autograder.plan import Reference
from autograder.result import ExerciseResult, RunResult
from autograder.session import Grader, Request, blank_run


@dataclass(frozen=True, slots=True)
class Progress:
    """How far a run is: ``result`` is the one that was just finished, None if it was there already."""

    student: str
    result: RunResult | None
    done: int
    total: int


@dataclass(slots=True)
class Summary:
    """What a run did, in numbers of students; ``faults`` are not theirs, and those are to be graded again."""

    graded: int = 0
    kept: int = 0
    faults: dict[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class ClassRun:
    """How a class is graded: what, with what, and by how many at once.

    ``make_grader`` starts the worker; it is called again should the worker die.  ``begin`` is called before anything
    is graded, when the folder of the results is this run's own.
    """

    course: Course
    store: Store
    reference: Reference
    exercises: tuple[Exercise, ...]
    seed: int
    workers: int
    make_grader: Callable[[], Grader]
    again: bool = False
    begin: Callable[[], None] = lambda: None

    def run(self, hand_ins: Sequence[HandInPath], progress: Callable[[Progress], None]) -> Summary:
        """Grade all ``hand_ins`` that are missing or changed.

        Raises:
            UsageError: another run is at work in the same folder, or it cannot be written to.
            CourseError: an exercise, a stub or a solution is broken, or a solution does not pass.
            WorkerError: the worker cannot be started.
        """
        summary = Summary()
        with self.store.locked(), _Graders(self.make_grader) as graders:
            self.begin()
            marks = self._marks(graders.current())
            self.store.keep_due(self.store.due().asked_for((one.student for one in hand_ins), marks))
            left = iter(hand_ins)
            running: dict[Future[RunResult | None], HandInPath] = {}
            done = 0
            with ThreadPoolExecutor(1) as beside, ThreadPoolExecutor(self.workers, "hand-in") as executor:
                solutions = beside.submit(self._require_passing_solutions, graders)
                try:
                    while True:
                        # No more are queued than can soon run: a class of any size takes the same room.
                        while len(running) < 2 * self.workers and (hand_in := next(left, None)) is not None:
                            running[executor.submit(self._one, hand_in, marks, graders, solutions)] = hand_in
                        if not running:
                            break
                        if solutions.done():
                            solutions.result()
                        finished, _ = wait(running, return_when=FIRST_COMPLETED)
                        for future in finished:
                            hand_in = running.pop(future)
                            done += 1
                            result = _result_of(future, hand_in.student, summary)
                            progress(Progress(hand_in.student, result, done, len(hand_ins)))
                except BaseException:
                    for future in running:
                        future.cancel()
                    graders.close()  # what still runs ends at once instead of at its limits
                    raise
        return summary

    def replay(self, hand_in: HandInPath) -> tuple[RunResult, RunResult | None]:
        """Grade one hand-in once more without keeping anything; with the result that is kept, if there is one."""
        request = replace(
            self._request(hand_in, self.exercises), repro_options=f" --dir {shlex.quote(str(hand_in.path))}"
        )
        with self.make_grader() as grader:
            return grader.grade(request), self.store.read(hand_in.student)

    def _require_passing_solutions(self, graders: _Graders) -> None:
        """Grade the solutions as a hand-in: a fault in the course or on this machine is to cost nobody a point.

        Raises:
            CourseError: one of them does not pass.
            WorkerError: the run was stopped.
        """
        request = Request(self.reference.folder, self.exercises, self.seed, self.reference)
        for exercise in self._grade(request, graders).exercises:
            if exercise.counts and not exercise.passed:
                failed = next((check for check in exercise.checks if check.outcome not in ("pass", "skipped")), None)
                why = f"{failed.id}: {failed.message}" if failed is not None else exercise.message
                raise CourseError(
                    f"Nothing was graded: the solution of {exercise.id} itself is {exercise.outcome} here ({why}). "
                    "Either the exercise is at fault, or this machine: see `course selfcheck`."
                )

    def _marks(self, grader: Grader) -> Mapping[str, str]:
        """For each exercise a hash of all but the hand-in that its result depends on."""
        secret = self.reference.secret or b""
        versions = [__version__, asdict(grader.environment), list(self.course.gpu_targets), grader.with_targets]
        marks = {}
        for exercise in self.exercises:
            # Pieces of the same file are called by each other, and graded with the reference in their place.
            family = [other for other in self.course.exercises if other.stub == exercise.stub]
            parts = [[other.digest(), self._hidden(other)] for other in family]
            solution = (self.reference.folder / exercise.stub).read_bytes()
            marks[exercise.id] = key_of(versions, self.seed, secret, parts, solution)
        return marks

    def _hidden(self, exercise: Exercise) -> list[dict[str, object]]:
        return [
            {"id": check.id, "tier": check.tier, "weight": check.weight, "case": dict(check.case)}
            for check in self.reference.hidden.get(exercise.id, ())
        ]

    def _request(self, hand_in: HandInPath, exercises: tuple[Exercise, ...]) -> Request:
        return Request(hand_in.path, exercises, self.seed, self.reference, hand_in.student)

    def _one(
        self, hand_in: HandInPath, marks: Mapping[str, str], graders: _Graders, solutions: Future[None]
    ) -> RunResult | None:
        """Grade what is missing or changed of one hand-in and write its result; None if nothing is.

        Nothing is written before the ``solutions`` have passed.

        Raises:
            CourseError: one of them did not.
            _OutOfReachError: the hand-in cannot be read any more.
        """
        _require_in_reach(hand_in.path)
        content = fingerprint(hand_in.path)
        known = None if self.again else self.store.read(hand_in.student)
        fresh = {} if known is None else _still_good(known, content, marks)
        if known is not None and len(fresh) == len(self.exercises):
            return None
        left = tuple(exercise for exercise in self.exercises if exercise.id not in fresh)
        result = self._grade(self._request(hand_in, left), graders)
        solutions.result()
        _require_in_reach(hand_in.path)  # of what vanished meanwhile nothing was graded
        graders.current()  # raises if the run was stopped meanwhile: a result of half a worker is none
        order = [exercise.id for exercise in self.course.exercises]
        merged = {**(_others(known, content, marks) if known else {}), **fresh}
        merged |= {exercise.id: exercise for exercise in result.exercises}
        notes = result.notes
        if skew := version_note(hand_in.path):
            notes = (*notes, skew)
        old = known.fingerprints if known is not None else {}
        prints = {name: old[name] for name in merged if name in old} | {HAND_IN: content}
        prints |= {e.id: marks[e.id] for e in result.exercises if e.outcome != "grader-error"}
        prints = {name: value for name, value in prints.items() if name == HAND_IN or _worth_keeping(merged[name])}
        result = replace(
            result,
            exercises=tuple(merged[name] for name in order if name in merged),
            notes=notes,
            fingerprints=prints,
        )
        self.store.write(hand_in.student, result)
        return result

    def _grade(self, request: Request, graders: _Graders) -> RunResult:
        """The result of one hand-in; whatever is wrong with it, there is one.

        Raises:
            WorkerError: the run was stopped.
        """
        for last in (False, True):
            grader = graders.current()
            try:
                result = grader.grade(request)
            except HandInError as error:
                # Students read this: they know their hand-in, and not where it lies here.
                message = str(error).replace(str(request.handin), "the hand-in")
                return blank_run(grader, request, "not-started", message)
            except (CourseError, UsageError):
                raise  # everybody's, not this hand-in's
            except WorkerError as error:
                # The server died: of hunger for memory, or by somebody's hand.  A new one, and once more.
                graders.replace(grader)
                if last:
                    return blank_run(graders.current(), request, "grader-error", str(error))
                continue
            except Exception as error:  # noqa: BLE001 - nobody pays for another's hand-in
                return blank_run(grader, request, "grader-error", _unforeseen(error))
            return result
        raise AssertionError("unreachable")


def _worth_keeping(exercise: ExerciseResult) -> bool:
    return exercise.outcome != "grader-error"


def _still_good(known: RunResult, content: str, marks: Mapping[str, str]) -> dict[str, ExerciseResult]:
    """The exercises of a kept result that need no grading."""
    if known.fingerprints.get(HAND_IN) != content:
        return {}
    return {
        exercise.id: exercise
        for exercise in known.exercises
        if exercise.id in marks and known.fingerprints.get(exercise.id) == marks[exercise.id]
    }


def _others(known: RunResult, content: str, marks: Mapping[str, str]) -> dict[str, ExerciseResult]:
    """Exercises of the kept result that this run was not asked for, as long as the hand-in is the same."""
    if known.fingerprints.get(HAND_IN) != content:
        return {}
    return {exercise.id: exercise for exercise in known.exercises if exercise.id not in marks}


class _OutOfReachError(Exception):
    """A hand-in that was there cannot be read: a share that is gone, a folder that is moved or locked."""


def _require_in_reach(path: Path) -> None:
    if not os.access(path, os.R_OK | (os.X_OK if path.is_dir() else 0)):
        raise _OutOfReachError


def _unforeseen(error: Exception) -> str:
    return f"The grader failed on this hand-in ({type(error).__name__}: {str(error)[:200]}). Please report it."


def _result_of(future: Future[RunResult | None], student: str, summary: Summary) -> RunResult | None:
    """The result of a hand-in that is done, and counted; None if none was made."""
    try:
        result = future.result()
    except _OutOfReachError:
        summary.faults[student] = "the hand-in is gone or cannot be read; what was graded before is kept"
        return None
    _count(summary, student, result)
    return result


def _count(summary: Summary, student: str, result: RunResult | None) -> None:
    if result is None:
        summary.kept += 1
        return
    summary.graded += 1
    faults = [exercise for exercise in result.exercises if exercise.outcome == "grader-error"]
    if faults:
        message = next((c.message for e in faults for c in e.checks if c.outcome == "grader-error"), "")
        summary.faults[student] = message or faults[0].message or result.error or ""


class _Graders:
    """The grader of a run, and a new one when its worker has died; safe to use from several threads."""

    def __init__(self, make: Callable[[], Grader]) -> None:
        self._make = make
        self._lock = threading.Lock()
        self._grader: Grader | None = None
        self._closed = False

    def __enter__(self) -> _Graders:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def current(self) -> Grader:
        with self._lock:
            if self._closed:
                raise WorkerError("The run was stopped.")
            if self._grader is None:
                self._grader = self._make()
            return self._grader

    def replace(self, dead: Grader) -> None:
        """Close a grader whose worker is gone, unless another thread has done so."""
        with self._lock:
            if self._grader is dead:
                dead.close()
                self._grader = None

    def close(self) -> None:
        with self._lock:
            self._closed = True
            if self._grader is not None:
                self._grader.close()
                self._grader = None
