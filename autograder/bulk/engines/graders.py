"""The graders of one process, one a GPU, and new ones when their workers have died."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

from autograder.errors import WorkerError
from autograder.session import Grader


@dataclass(slots=True)
class _Seat:
    """Where a grader is made when it is needed; ``busy`` counts who use it now."""

    make: Callable[[], Grader]
    lock: threading.Lock
    grader: Grader | None = None
    busy: int = 0


class Graders:
    """Lends the grader that has the least to do; safe to use from several threads.  A context manager.

    Each of ``makers`` starts the worker of one GPU, or of the CPU; it is called again should the worker die.
    """

    def __init__(self, makers: Sequence[Callable[[], Grader]]) -> None:
        self._seats = [_Seat(make, threading.Lock()) for make in makers]
        self._lock = threading.Lock()
        self._closed = False

    def __enter__(self) -> Graders:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def start(self) -> Grader:
        """Start all that are not there yet; the first of them.

        Raises:
            WorkerError: one cannot be started.
        """
        first, *_ = [self._grader(seat) for seat in self._seats]
        return first

    @contextmanager
    def lend(self) -> Iterator[Grader]:
        """The grader that the fewest use.

        Raises:
            WorkerError: it cannot be started, or all are closed.
        """
        with self._lock:
            seat = min(self._seats, key=lambda seat: seat.busy)
            seat.busy += 1
        try:
            yield self._grader(seat)
        finally:
            with self._lock:
                seat.busy -= 1

    def replace(self, dead: Grader) -> None:
        """Close a grader whose worker is gone, unless another thread has done so."""
        for seat in self._seats:
            with seat.lock:
                if seat.grader is dead:
                    dead.close()
                    seat.grader = None

    def require_open(self) -> None:
        """Nothing, as long as the run was not stopped.

        Raises:
            WorkerError: it was.
        """
        if self._closed:
            raise WorkerError("The run was stopped.")

    def close(self) -> None:
        """End all workers; what is at work ends with a WorkerError."""
        self._closed = True
        for seat in self._seats:
            with seat.lock:
                if seat.grader is not None:
                    seat.grader.close()
                    seat.grader = None

    def _grader(self, seat: _Seat) -> Grader:
        with seat.lock:
            self.require_open()
            if seat.grader is None:
                seat.grader = seat.make()
            return seat.grader
