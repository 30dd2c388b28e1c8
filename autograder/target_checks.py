"""The check of a hand-in's kernels on the course's GPU targets, beside the checks that run them."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path

from autograder.catalogue import Course, Exercise
from autograder.errors import WorkerError, WorkStopped
from autograder.gpu_targets import TargetChecker, TargetVerdict
from autograder.kept import Kept
from autograder.machine import version_of
from autograder.pool import Pool
from autograder.protocol import Job

Lowerings = Mapping[str, "Future[TargetVerdict | None]"]


class TargetChecks:
    """Lowers kernels for the GPUs of a course, in a server of its own that is started when it is needed.

    ``when`` is ``always``, ``if-passed`` (all else is) or ``off``; ``cache`` is a folder that remembers what came of a
    lowering, ``digest`` tells whether an exercise has changed.
    """

    def __init__(
        self, course: Course, when: str, cache: Path | None, threads: int, digest: Callable[[Exercise], str]
    ) -> None:
        self.when = when
        self._course = course
        self._threads = threads
        self._digest = digest
        self._pool: Pool | None = None
        self._described: dict[str, Sequence[Mapping[str, object]]] = {}
        self._lock = threading.Lock()
        self._checker = TargetChecker(self._server, course.gpu_targets, Kept(cache), version_of("triton"))

    def close(self) -> None:
        if self._pool is not None:
            self._pool.close()

    def stop(self) -> None:
        """End what the compiler is at, from another thread; which ends with WorkStopped."""
        with self._lock:
            pool = self._pool
        if pool is not None:
            pool.stop_jobs()

    @property
    def ahead_of_checks(self) -> bool:
        """Whether kernels are lowered whatever the checks say."""
        return self.when == "always" and bool(self._course.gpu_targets)

    def prepare(self, work: Iterable[tuple[Exercise, Job]]) -> None:
        """Start the compiler's server, if it will have something to do, while others are busy with imports."""
        if not all(self._checker.knows(job, self._digest(exercise)) for exercise, job in work):
            self._server()

    @contextlib.contextmanager
    def ahead(self, work: Iterable[tuple[Exercise, Job]], official: bool) -> Iterator[Lowerings]:
        """The verdicts of the compiler, which works beside the checks and waits for none, by exercise."""
        with ThreadPoolExecutor(self._threads) as executor:
            try:
                yield {exercise.id: executor.submit(self.verdict, exercise, job, official) for exercise, job in work}
            finally:
                executor.shutdown(wait=False, cancel_futures=True)

    def verdict(self, exercise: Exercise, job: Job, official: bool) -> TargetVerdict | None:
        """Whether the kernels would compile for the course's GPUs; None if the course names none.

        Raises:
            WorkerError: ``official``, and the compiler's server is gone.
            WorkStopped: somebody called `stop`.
        """
        if not self._course.gpu_targets:
            return None
        if self.when == "off":
            return TargetVerdict("skipped", "GPU targets were not asked for.", None, ())
        try:
            return self.lowered(exercise, job)
        except WorkStopped:
            raise
        except WorkerError as error:
            if official:
                raise  # an official score does not depend on what this machine happened to be able to try
            return TargetVerdict("skipped", f"GPU targets could not be tried on this machine: {error}", None, ())

    def lowered(self, exercise: Exercise, job: Job, full: bool = False) -> TargetVerdict:
        """What the compiler says; with ``full`` down to machine code.

        Raises:
            WorkerError: its server is gone.
        """
        digest = self._digest(exercise)
        return self._checker.check(job, digest, lambda: self._launches(exercise), exercise.true_float32, full)

    def _server(self) -> Pool:
        with self._lock:
            if self._pool is None:
                self._pool = Pool("targets", [exercise.folder for exercise in self._course.exercises])
            return self._pool

    def _launches(self, exercise: Exercise) -> Sequence[Mapping[str, object]]:
        """The launches of an exercise's public checks, on whatever device: cases, with their inputs described."""
        from autograder.judge.oracles import load_oracle
        from autograder.judge.tensors import dtype_name

        if exercise.id not in self._described:
            oracle = load_oracle(exercise.oracle)
            self._described[exercise.id] = [
                {
                    "case": dict(check.case),
                    "inputs": {
                        name: [dtype_name(x.dtype), list(x.shape)] for name, x in oracle.inputs(check, 0).items()
                    },
                }
                for check in exercise.checks
            ]
        return self._described[exercise.id]
