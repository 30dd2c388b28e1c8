"""One grader that stays warm: started at first use, at work in a thread that can be interrupted, ended with us."""

from __future__ import annotations

import atexit
import threading
from collections.abc import Callable
from concurrent.futures import Future
from pathlib import Path

from autograder import doctor
from autograder.catalogue import Course, Exercise
from autograder.errors import EnvironmentProblem, UsageError, WorkerError
from autograder.gpu_targets import default_cache
from autograder.machine import choose_device
from autograder.result import RunResult
from autograder.session import Grader, Request

Open = Callable[[Course, str], Grader]


def open_grader(course: Course, device: str) -> Grader:
    """A grader for ``auto``, ``cpu`` or ``cuda``, as `grade` makes it.

    Raises:
        EnvironmentProblem: this machine lacks what is needed.
        WorkerError: the worker cannot be started.
    """
    chosen, gpu = choose_device(device)
    if sentence := doctor.blocking(chosen):
        raise EnvironmentProblem(f"{sentence} `grade doctor` says more.")
    return Grader(course, chosen, gpu, target_cache=default_cache())


class Warm:
    """Holds at most one grader; the worker is a child process, and ends at the latest when this process does."""

    def __init__(self, opened: Open = open_grader) -> None:
        self._open = opened
        self._grader: Grader | None = None
        self._for: tuple[Course, str] | None = None
        atexit.register(self.close)

    def is_warm(self, course: Course, device: str) -> bool:
        """Whether a run begins at once."""
        return self._for == (course, device)

    def grade(self, course: Course, handin: Path, exercises: tuple[Exercise, ...], seed: int, device: str) -> RunResult:
        """Grade, starting a worker if there is none for this course and device, and once anew if it was killed.

        Raises:
            UsageError: there is nothing to grade, the course is broken, or the run was interrupted.
            WorkerError: no worker can be kept alive.
        """
        request = Request(handin, exercises, seed)
        try:
            return self._run(course, request, device)
        except WorkerError:
            self.close()  # someone, such as a system that ran out of memory, ended the worker since the last run
            return self._run(course, request, device)

    def close(self) -> None:
        """End the worker, and with it every child."""
        grader, self._grader, self._for = self._grader, None, None
        if grader is not None:
            grader.close()

    def _run(self, course: Course, request: Request, device: str) -> RunResult:
        if self._grader is None or self._for != (course, device):
            self.close()
            self._grader = self._open(course, device)
            self._for = (course, device)
        grader = self._grader
        outcome: Future[RunResult] = Future()

        def work() -> None:
            try:
                outcome.set_result(grader.grade(request))
            except BaseException as error:  # noqa: BLE001 - handed on to who waits
                outcome.set_exception(error)

        threading.Thread(target=work, name="grading", daemon=True).start()
        try:
            return outcome.result()
        except KeyboardInterrupt:
            self.close()  # whatever is at work ends with the worker
            raise UsageError("Stopped. Your work is saved; run the cell again to have it graded.") from None
