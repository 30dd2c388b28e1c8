"""Where one hand-in is graded: from its files to its result file, whichever engine spreads the class.

What is done here once may be done twice: a result is a file that is whole or not there, and holds the fingerprints by
which a second try finds that nothing is left to do.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, replace
from pathlib import Path

from autograder import __version__
from autograder.bulk.due import HAND_IN
from autograder.bulk.engines.graders import Graders
from autograder.bulk.hand_ins import HandInPath, fingerprint
from autograder.bulk.skew import version_note
from autograder.bulk.store import Store
from autograder.catalogue import Course, Exercise
from autograder.errors import CourseError, HandInError, UsageError, WorkerError
from autograder.kept import key_of
from autograder.plan import Reference
from autograder.pool import full_disk, is_full_disk
from autograder.result import Environment, ExerciseResult, RunResult
from autograder.session import Grader, Request, blank_run

_TRIES = 3  # to grade a hand-in that is changed meanwhile, as by a folder that is being synchronized


@dataclass(frozen=True, slots=True)
class Graded:
    """What became of one hand-in, in a few bytes: its result is in its file.

    ``fresh`` is whether anything was graded; ``fault`` says what went wrong that is not the student's, None if nothing
    did.  ``missing`` has a sentence for each layer of the sandbox that was not there.
    """

    student: str
    fresh: bool
    fault: str | None = None
    missing: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Work:
    """What a run grades, and against what: the same on every machine that takes part.  ``again`` grades all anew."""

    course: Course
    store: Store
    reference: Reference
    exercises: tuple[Exercise, ...]
    seed: int
    again: bool = False

    def marks(self, environment: Environment, with_targets: bool) -> Mapping[str, str]:
        """For each exercise a hash of all but the hand-in that its result depends on."""
        secret = self.reference.secret or b""
        versions = [__version__, asdict(environment), list(self.course.gpu_targets), with_targets]
        marks = {}
        for exercise in self.exercises:
            # Pieces of the same file are called by each other, and graded with the reference in their place.
            family = [other for other in self.course.exercises if other.stub == exercise.stub]
            parts = [[other.digest(), self._hidden(other)] for other in family]
            solution = (self.reference.folder / exercise.stub).read_bytes()
            marks[exercise.id] = key_of(versions, self.seed, secret, parts, solution)
        return marks

    def is_done(self, hand_in: HandInPath, marks: Mapping[str, str]) -> bool:
        """Whether the result that is kept of a hand-in is of what it is now, and of all that is asked for."""
        known = None if self.again else self.store.read(hand_in.student)
        if known is None or not _in_reach(hand_in.path):
            return False
        return len(_still_good(known, fingerprint(hand_in.path), marks)) == len(self.exercises)

    def request(self, hand_in: HandInPath, exercises: tuple[Exercise, ...]) -> Request:
        return Request(hand_in.path, exercises, self.seed, self.reference, hand_in.student)

    def _hidden(self, exercise: Exercise) -> list[dict[str, object]]:
        return [
            {"id": check.id, "tier": check.tier, "weight": check.weight, "case": dict(check.case)}
            for check in self.reference.hidden.get(exercise.id, ())
        ]


class Desk:
    """Grades hand-ins with the ``graders`` of this process; safe to use from several threads.

    ``before_writing`` is called when a result is about to be written, and raises where it must not be.
    """

    def __init__(
        self, work: Work, marks: Mapping[str, str], graders: Graders, before_writing: Callable[[], None]
    ) -> None:
        self._work = work
        self._marks = marks
        self._graders = graders
        self._before_writing = before_writing

    def grade(self, hand_in: HandInPath) -> Graded:
        """Grade what is missing or changed of one hand-in, and write its result.

        Raises:
            CourseError: an exercise, a stub or a solution is broken.
            WorkerError: the run was stopped.
        """
        if not _in_reach(hand_in.path):
            return _out_of_reach(hand_in)
        for _ in range(_TRIES):
            content = fingerprint(hand_in.path)
            known = None if self._work.again else self._work.store.read(hand_in.student)
            fresh = {} if known is None else _still_good(known, content, self._marks)
            if known is not None and len(fresh) == len(self._work.exercises):
                return Graded(hand_in.student, fresh=False)
            left = tuple(exercise for exercise in self._work.exercises if exercise.id not in fresh)
            result = self._grade(self._work.request(hand_in, left))
            self._before_writing()
            if not _in_reach(hand_in.path):  # of what vanished meanwhile nothing was graded
                return _out_of_reach(hand_in)
            self._graders.require_open()  # a result of half a worker is none
            if fingerprint(hand_in.path) == content:  # else it is of something that nobody knows any more
                return self._keep(hand_in, content, known, fresh, result)
        changing = "the hand-in changed each time while it was graded; what was graded before is kept"
        return Graded(hand_in.student, fresh=False, fault=changing)

    def give_up(self, hand_in: HandInPath, fault: str) -> Graded:
        """Record that a hand-in cannot be graded, which is nobody's points; what is known of it stays.

        Raises:
            WorkerError: the run was stopped.
        """
        if not _in_reach(hand_in.path):
            return _out_of_reach(hand_in)
        content = fingerprint(hand_in.path)
        known = self._work.store.read(hand_in.student)
        fresh = {} if known is None else _still_good(known, content, self._marks)
        left = tuple(exercise for exercise in self._work.exercises if exercise.id not in fresh)
        with self._graders.lend() as grader:
            result = blank_run(grader, self._work.request(hand_in, left), "grader-error", fault)
        self._before_writing()
        return self._keep(hand_in, content, known, fresh, result)

    def require_passing_solutions(self, remembered: bool = True, where: str = "") -> None:
        """Grade the solutions as a hand-in: a fault in the course or on this machine is to cost nobody a point.

        Without ``remembered`` they are run here, whatever was found before on this machine or another; ``where`` names
        the machine.

        Raises:
            CourseError: one of them does not pass.
            WorkerError: the run was stopped.
        """
        work = self._work
        request = Request(work.reference.folder, work.exercises, work.seed, work.reference, remembered=remembered)
        for exercise in self._grade(request).exercises:
            if exercise.counts and not exercise.passed:
                failed = next((check for check in exercise.checks if check.outcome not in ("pass", "skipped")), None)
                why = f"{failed.id}: {failed.message}" if failed is not None else exercise.message
                if where:
                    raise CourseError(
                        f"The solution of {exercise.id} itself is {exercise.outcome} on {where} ({why}). Either the "
                        "exercise is at fault, or that machine: stop its workers and run the same command again."
                    )
                raise CourseError(
                    f"Nothing was graded: the solution of {exercise.id} itself is {exercise.outcome} here ({why}). "
                    "Either the exercise is at fault, or this machine: see `course selfcheck`."
                )

    def _keep(
        self,
        hand_in: HandInPath,
        content: str,
        known: RunResult | None,
        fresh: Mapping[str, ExerciseResult],
        result: RunResult,
    ) -> Graded:
        """Write the result of what was graded now, with what is kept of the run before."""
        order = [exercise.id for exercise in self._work.course.exercises]
        merged = {**(_others(known, content, self._marks) if known else {}), **fresh}
        merged |= {exercise.id: exercise for exercise in result.exercises}
        notes = result.notes
        if skew := version_note(hand_in.path):
            notes = (*notes, skew)
        old = known.fingerprints if known is not None else {}
        prints = {name: old[name] for name in merged if name in old} | {HAND_IN: content}
        prints |= {e.id: self._marks[e.id] for e in result.exercises if e.outcome != "grader-error"}
        prints = {name: value for name, value in prints.items() if name == HAND_IN or _worth_keeping(merged[name])}
        result = replace(
            result,
            exercises=tuple(merged[name] for name in order if name in merged),
            notes=notes,
            fingerprints=prints,
        )
        self._work.store.write(hand_in.student, result)
        return Graded(hand_in.student, True, _fault(result), result.sandbox.missing)

    def _grade(self, request: Request) -> RunResult:
        """The result of one hand-in; whatever is wrong with it, there is one.

        Raises:
            WorkerError: the run was stopped.
        """
        for last in (False, True):
            with self._graders.lend() as grader:
                try:
                    return grader.grade(request)
                except HandInError as error:
                    # Students read this: they know their hand-in, and not where it lies here.
                    message = str(error).replace(str(request.handin), "the hand-in")
                    return blank_run(grader, request, "not-started", message)
                except (CourseError, UsageError):
                    raise  # everybody's, not this hand-in's
                except WorkerError as error:
                    # The server died: of hunger for memory, or by somebody's hand.  A new one, and once more.
                    self._graders.replace(grader)
                    if last:
                        return self._died_again(request, error)
                except Exception as error:  # noqa: BLE001 - nobody pays for another's hand-in
                    return blank_run(grader, request, "grader-error", _unforeseen(error))
        raise AssertionError("unreachable")

    def _died_again(self, request: Request, error: WorkerError) -> RunResult:
        with self._graders.lend() as grader:
            return blank_run(grader, request, "grader-error", str(error))


def replayed(work: Work, grader: Grader, hand_in: HandInPath, options: str) -> tuple[RunResult, RunResult | None]:
    """Grade one hand-in once more without keeping anything; with the result that is kept, if there is one."""
    request = replace(work.request(hand_in, work.exercises), repro_options=options)
    return grader.grade(request), work.store.read(hand_in.student)


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


def _in_reach(path: Path) -> bool:
    """Whether a hand-in can be read: its share may be gone, its folder moved or locked."""
    return os.access(path, os.R_OK | (os.X_OK if path.is_dir() else 0))


def _out_of_reach(hand_in: HandInPath) -> Graded:
    gone = "the hand-in is gone or cannot be read; what was graded before is kept"
    return Graded(hand_in.student, fresh=False, fault=gone)


def _unforeseen(error: Exception) -> str:
    if isinstance(error, OSError) and is_full_disk(error):
        return f"{full_disk()} Then run the same command again."
    return f"The grader failed on this hand-in ({type(error).__name__}: {str(error)[:200]}). Please report it."


def _fault(result: RunResult) -> str | None:
    """What is not the student's fault; None if there is nothing of the kind."""
    faults = [exercise for exercise in result.exercises if exercise.outcome == "grader-error"]
    if not faults:
        return None
    message = next((c.message for e in faults for c in e.checks if c.outcome == "grader-error"), "")
    return message or faults[0].message or result.error or ""
