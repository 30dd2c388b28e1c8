"""The Dask engine: the scheduler's workers do the jobs, one a GPU, and write results to a folder that all see."""

from __future__ import annotations

import logging
import math
import secrets
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Any

from autograder import __version__
from autograder.bulk.desk import Work
from autograder.bulk.engines import remote
from autograder.bulk.engines.attempts import Attempts
from autograder.bulk.engines.lasting import LastingExecutor, Patience, asked, workers_of
from autograder.bulk.engines.model import Crew, Waits, unsaid
from autograder.bulk.engines.reach import Reach
from autograder.errors import EnvironmentProblem
from autograder.result import Environment

GPU = "GPU"  # the resource of which each hand-in takes one, where kernels run on GPUs
_SOLUTIONS = "Grading the solutions on the workers first, so that nothing is graded where they do not pass"
_LOOK_SECONDS = 0.5
_LATE_SECONDS = 5.0  # behind the other workers' signs of life
_END_SECONDS = 10.0  # for workers to close what they keep; one may hang


@dataclass(frozen=True, slots=True)
class DaskEngine:
    """Grades on the cluster that ``reach`` leads to.

    ``folder`` holds the hand-ins, ``device`` is the one wished for, and ``most`` bounds how many are graded at once;
    ``say`` is told what goes wrong on the way, and ``waits`` what is waited for.
    """

    reach: Reach
    folder: Path
    device: str
    targets: bool
    allow_weak_sandbox: bool
    most: int | None = None
    patience: Patience = field(default_factory=Patience)
    say: Callable[[str], None] = lambda sentence: None
    waits: Waits = unsaid

    @contextmanager
    def at_work(self, work: Work) -> Iterator[Crew]:
        """A crew of the cluster's workers.

        Raises:
            EnvironmentProblem: no scheduler answers, or its workers differ or do not see the folders.
            WorkerError: there is no worker.
        """
        run = secrets.token_hex(8)
        attempts = Attempts(work.store.running.resolve(), run)
        self.waits(self.reach.approach)
        with self.reach.opened(self.say) as connect, _quiet():
            client = connect()
            try:
                self._wait_for_workers(client)
                attempts.open()
                self.waits("Asking the workers of the cluster what they are and see")
                order = self._order(work, run, client, self._look_around(client, work, run))
                resource = GPU if order.environment["device"] == "cuda" else None
                # A batch system's queue may be long, and it says itself what it cannot do.
                patience = replace(self.patience, workers=math.inf) if self.reach.queued else self.patience
                executor = LastingExecutor(client, connect, resource, patience, self.say)
                self.waits(None)
                try:
                    yield self._crew(executor, order)
                finally:
                    client = executor.client
                    attempts.close()  # what is still at work somewhere writes nothing from here on
                    executor.shutdown(cancel_futures=True)
                    _end_everywhere(client, run)
            finally:
                attempts.close()
                client.close()

    def _crew(self, executor: LastingExecutor, order: remote.Order) -> Crew:
        def slots() -> int:
            return executor.slots() if self.most is None else min(self.most, executor.slots())

        def stop() -> None:
            executor.shutdown(cancel_futures=True)

        return Crew(
            executor,
            partial(remote.grade, order),
            order.marks,
            slots,
            lambda: None,
            stop,
            partial(self.waits, _SOLUTIONS),
        )

    def _wait_for_workers(self, client: Any) -> None:
        """Return when there is a worker.

        Raises:
            EnvironmentProblem: none came in time.
        """
        end = time.monotonic() + self.patience.workers
        if not workers_of(client):
            longest = "" if self.reach.queued else f" up to {self.patience.workers:.0f} s"
            self.waits(f"Waiting{longest} for workers of the cluster ({self.reach.hint})")
        while not workers_of(client):
            if time.monotonic() > end and not self.reach.queued:
                raise EnvironmentProblem(
                    f"Dask's scheduler has no worker, and none came in {self.patience.workers:.0f} s. "
                    "Start workers (`dask worker`, see docs/clusters.md), and run the command again."
                )
            time.sleep(_LOOK_SECONDS)

    def _look_around(self, client: Any, work: Work, run: str) -> Mapping[str, Mapping[str, Any]]:
        """What the workers are and see, once all are fit for the run.

        Raises:
            EnvironmentProblem: one of them is not; the sentence says which, and why.
        """
        arguments = (str(work.course.root), str(self.folder), str(work.store.running.resolve()), run, self.device)
        answers = self._answers(client, arguments)
        found: dict[str, Mapping[str, Any]] = {}
        for address, answer in sorted(answers.items()):
            if isinstance(answer, OSError):
                continue  # it left in the meantime
            if isinstance(answer, BaseException):
                raise EnvironmentProblem(
                    f"The worker at {address} has no kit, or another version of it ({answer}). "
                    f"Install version {__version__} there, and start it again."
                )
            if answer["version"] != __version__:
                raise EnvironmentProblem(
                    f"The worker on {answer['host']} has version {answer['version']} of the kit, and here it is "
                    f"{__version__}. Install the same there, and start it again."
                )
            if answer["unseen"]:
                raise EnvironmentProblem(
                    f"The worker on {answer['host']} does not see {' nor '.join(answer['unseen'])}. The course, the "
                    "hand-ins and --out must lie in folders that all machines see by the same path."
                )
            if answer["problem"]:
                raise EnvironmentProblem(f"On the worker on {answer['host']}: {answer['problem']}")
            found[address] = answer
        if not found:
            raise EnvironmentProblem("All of Dask's workers left at once. Run the command again when there are some.")
        first, *others = found.values()
        for other in others:
            if differences := remote.different(first["environment"], other["environment"]):
                raise EnvironmentProblem(
                    f"The workers on {first['host']} and {other['host']} are not alike: {differences} on the second. "
                    "Scores must not depend on where a hand-in is graded: leave one kind out."
                )
        return found

    def _answers(self, client: Any, arguments: tuple[str, ...]) -> Mapping[str, Any]:
        """What each worker answers; one that hangs holds up all until the scheduler takes it for lost.

        Raises:
            EnvironmentProblem: that takes too long.
        """
        ask = partial(client.run, remote.look_around, *arguments, on_error="return")

        def silent() -> str:
            newest = max((worker["last_seen"] for worker in workers_of(client).values()), default=0.0)
            late = [name for name, worker in workers_of(client).items() if newest - worker["last_seen"] > _LATE_SECONDS]
            return f"the worker at {late[0]} does not answer" if late else "a worker of Dask does not answer"

        def slow() -> None:
            what = silent()
            self.say(f"{what[:1].upper()}{what[1:]}; waiting for it, or until the scheduler takes it for lost.")

        try:
            return asked(ask, self.patience.workers, slow)
        except TimeoutError:
            raise EnvironmentProblem(
                f"Nothing was graded: {silent()}. End that worker, and run the command again."
            ) from None

    def _order(self, work: Work, run: str, client: Any, found: Mapping[str, Mapping[str, Any]]) -> remote.Order:
        workers = workers_of(client)
        jobs: Counter[str] = Counter()
        for address, answer in found.items():
            jobs[answer["host"]] += int(workers[address]["nthreads"]) if address in workers else 1
        environment = next(iter(found.values()))["environment"]
        return remote.Order(
            version=__version__,
            run=run,
            root=work.course.root,
            out=work.store.out.resolve(),
            exercises=tuple(exercise.id for exercise in work.exercises),
            seed=work.seed,
            again=work.again,
            targets=self.targets,
            allow_weak_sandbox=self.allow_weak_sandbox,
            # A host's cores are shared by the hand-ins that its workers grade at once.
            threads=max(1, min(answer["cores"] // jobs[answer["host"]] for answer in found.values())),
            environment=environment,
            marks=work.marks(Environment(**environment), self.targets),
        )


def _end_everywhere(client: Any, run: str) -> None:
    """Have all workers close what they keep for a run; those that cannot be reached do so by themselves."""
    if client.status == "running":
        with suppress(Exception):  # the run is over, and graders that nobody uses are closed in time
            asked(lambda: client.run(remote.end_run, run, on_error="ignore"), _END_SECONDS)


@contextmanager
def _quiet() -> Iterator[None]:
    """What Dask logs about connections, as long as it is our part to say it."""
    names = [name for name in logging.root.manager.loggerDict if name.split(".")[0] == "distributed"]
    handlers = {handler: handler.level for name in names for handler in logging.getLogger(name).handlers}
    for handler in handlers:
        handler.setLevel(logging.CRITICAL + 1)
    try:
        yield
    finally:
        for handler, level in handlers.items():
            handler.setLevel(level)
