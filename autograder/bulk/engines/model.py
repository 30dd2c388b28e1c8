"""What an engine is: a `concurrent.futures.Executor`, the job to submit to it, and how many it does at once."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from concurrent.futures import Executor
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

from autograder.bulk.hand_ins import HandInPath

if TYPE_CHECKING:
    from autograder.bulk.desk import Graded, Work


class Waits(Protocol):
    """Is told what is waited for, or None when that is over; ``after`` is from how many seconds on it is worth saying.

    Sentences have no full stop: how long it is by now may follow.
    """

    def __call__(self, sentence: str | None, after: float = 0.0) -> None: ...


def unsaid(sentence: str | None, after: float = 0.0) -> None:
    """Tells nobody what is waited for."""


@dataclass(frozen=True, slots=True)
class Crew:
    """An engine at work on one run.

    ``job`` may be done again, wholly or in part: what is there is not graded twice.  ``marks`` are the fingerprints
    that results will have, by exercise.  ``slots`` is how many jobs are done at once, now.  ``check`` raises what makes
    the whole run pointless, such as a solution that does not pass.  ``stop`` ends what is at work instead of waiting.
    ``first`` is called before the first job is submitted, if there is one.
    """

    executor: Executor
    job: Callable[[HandInPath], Graded]
    marks: Mapping[str, str]
    slots: Callable[[], int]
    check: Callable[[], None]
    stop: Callable[[], None]
    first: Callable[[], None] = lambda: None


class Engine(Protocol):
    """What spreads the work of a run."""

    def at_work(self, work: Work) -> AbstractContextManager[Crew]:
        """A crew for one run; it is gone when the context ends.

        Raises:
            WorkerError: no worker can be started or reached.
            EnvironmentProblem: those that there are cannot grade this class.
        """
        ...
