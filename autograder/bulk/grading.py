"""Grade a class: several hand-ins at once, each written when it is done, and nothing graded twice.

Whatever stops a run, kill -9 included, loses only the hand-ins it was at: results are files that are whole or not
there, and each holds the fingerprints by which the next run knows what is still as it was.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, wait
from dataclasses import dataclass, field, replace

from autograder.bulk.desk import Graded, Work
from autograder.bulk.engines.model import Crew, Engine
from autograder.bulk.hand_ins import HandInPath

_AHEAD = 2  # jobs an executor is given for each that it does at once: a class of any size takes the same room
_LOOK_SECONDS = 5.0  # between two looks at how many jobs are done at once: workers come and go


@dataclass(frozen=True, slots=True)
class Progress:
    """How far a run is: ``fresh`` is whether the student was graded now, or was so already.

    ``last`` are those who are still at work when nobody else is left.
    """

    student: str
    fresh: bool
    done: int
    total: int
    last: tuple[str, ...] = ()


@dataclass(slots=True)
class Summary:
    """What a run did, in numbers of students; ``faults`` are not theirs, and those are to be graded again.

    ``missing`` has a sentence for each layer of the sandbox that was not there.
    """

    graded: int = 0
    kept: int = 0
    faults: dict[str, str] = field(default_factory=dict)
    missing: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class ClassRun:
    """How a class is graded: what, and by which engine.

    ``begin`` is called before anything is graded, when the folder of the results is this run's own.
    """

    work: Work
    engine: Engine
    begin: Callable[[], None] = lambda: None

    def run(self, hand_ins: Sequence[HandInPath], progress: Callable[[Progress], None]) -> Summary:
        """Grade all ``hand_ins`` that are missing or changed.

        Raises:
            UsageError: another run is at work in the same folder, or it cannot be written to.
            CourseError: an exercise, a stub or a solution is broken, or a solution does not pass.
            WorkerError: no worker can be started, or all are gone.
        """
        store = self.work.store
        with store.locked():
            self.begin()
            with self.engine.at_work(self.work) as crew:
                store.keep_due(store.due().asked_for((one.student for one in hand_ins), crew.marks))
                return self._run(hand_ins, crew, progress)

    def _run(self, hand_ins: Sequence[HandInPath], crew: Crew, progress: Callable[[Progress], None]) -> Summary:
        summary = Summary()
        left = iter(hand_ins)
        more, submitted = True, False
        running: dict[Future[Graded], HandInPath] = {}
        done = 0

        def count(graded: Graded) -> None:
            nonlocal done
            done += 1
            _count(summary, graded)
            last = () if more else tuple(hand_in.student for hand_in in running.values())
            progress(Progress(graded.student, graded.fresh, done, len(hand_ins), last))

        try:
            while more or running:
                while more and len(running) < max(1, _AHEAD * crew.slots()):
                    hand_in = next(left, None)
                    if hand_in is None:
                        more = False
                    elif self.work.is_done(hand_in, crew.marks):
                        count(Graded(hand_in.student, fresh=False))
                    else:
                        if not submitted:
                            crew.first()
                            submitted = True
                        running[crew.executor.submit(crew.job, hand_in)] = hand_in
                crew.check()
                finished, _ = wait(running, timeout=_LOOK_SECONDS, return_when=FIRST_COMPLETED)
                for future in finished:
                    running.pop(future)
                    graded = future.result()
                    # A job may be done twice, and finds nothing left to do: this run graded it all the same.
                    count(replace(graded, fresh=graded.fresh or graded.fault is None))
        except BaseException:
            for future in running:
                future.cancel()
            crew.stop()  # what still runs ends at once instead of at its limits
            raise
        return summary


def _count(summary: Summary, graded: Graded) -> None:
    summary.missing = tuple(dict.fromkeys([*summary.missing, *graded.missing]))
    if graded.fault is not None:
        summary.faults[graded.student] = graded.fault
    if graded.fresh:
        summary.graded += 1
    elif graded.fault is None:
        summary.kept += 1
