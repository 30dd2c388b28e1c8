"""Who may run beside whom: many children at once, or one alone; and those that take much of a GPU's memory."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Iterator


class Gate:
    """Many may pass at once, or one alone."""

    def __init__(self) -> None:
        self._condition = threading.Condition()
        self._inside = 0
        self._closed = False

    @contextlib.contextmanager
    def shared(self) -> Iterator[None]:
        with self._condition:
            self._condition.wait_for(lambda: not self._closed)
            self._inside += 1
        try:
            yield
        finally:
            with self._condition:
                self._inside -= 1
                self._condition.notify_all()

    @contextlib.contextmanager
    def alone(self) -> Iterator[None]:
        with self._condition:
            self._condition.wait_for(lambda: not self._closed)
            self._closed = True
            self._condition.wait_for(lambda: self._inside == 0)
        try:
            yield
        finally:
            with self._condition:
                self._closed = False
                self._condition.notify_all()


class Shares:
    """Parts of one thing: as many are held at once as fit into ``most`` of it, or a single one."""

    def __init__(self, most: float) -> None:
        self._condition = threading.Condition()
        self._most = most
        self._held: list[float] = []

    @contextlib.contextmanager
    def held(self, share: float) -> Iterator[None]:
        """Hold a share, once it fits; one of 0 always does."""
        if not share:
            yield
            return
        with self._condition:
            self._condition.wait_for(lambda: not self._held or sum(self._held) + share <= self._most)
            self._held.append(share)
        try:
            yield
        finally:
            with self._condition:
                self._held.remove(share)
                self._condition.notify_all()
