"""The local engine: threads that wait for the workers of this machine, of which there is one for each GPU."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass

from autograder.bulk.desk import Desk, Work
from autograder.bulk.engines.graders import Graders
from autograder.bulk.engines.model import Crew, Waits, unsaid
from autograder.session import Grader

_LONG_SECONDS = 3.0  # before it is said what is waited for


@dataclass(frozen=True, slots=True)
class LocalEngine:
    """Grades ``workers`` hand-ins at once; each of ``makers`` starts the worker of one GPU, or the one of the CPU.

    ``waits`` is told what takes long before the first result is written.
    """

    makers: Sequence[Callable[[], Grader]]
    workers: int
    waits: Waits = unsaid

    @contextmanager
    def at_work(self, work: Work) -> Iterator[Crew]:
        """A crew of threads; nothing is written before the solutions have passed.

        Raises:
            WorkerError: a worker cannot be started.
        """
        with Graders(self.makers) as graders:
            self.waits("Starting the process that runs kernels", _LONG_SECONDS)
            first = graders.start()
            marks = work.marks(first.environment, first.with_targets)
            with ThreadPoolExecutor(1) as beside, ThreadPoolExecutor(self.workers, "hand-in") as executor:
                solutions: Future[None]

                def passed() -> None:
                    solutions.result()

                def check() -> None:
                    if solutions.done():
                        solutions.result()

                desk = Desk(work, marks, graders, passed)
                self.waits(
                    "Grading the solutions first, so that nothing is graded where they do not pass", _LONG_SECONDS
                )
                solutions = beside.submit(desk.require_passing_solutions)
                solutions.add_done_callback(lambda _: self.waits(None))
                try:
                    yield Crew(executor, desk.grade, marks, lambda: self.workers, check, graders.close)
                except BaseException:
                    graders.close()  # what still runs ends at once instead of at its limits
                    raise
