"""What long commands show on stderr while they are at work: a bar on a terminal, lines where there is none.

Both say the same in the words of `_pace`.
"""

from __future__ import annotations

import sys
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

from rich.console import Console, ConsoleOptions, RenderResult
from rich.live import Live
from rich.padding import Padding
from rich.progress_bar import ProgressBar
from rich.table import Table
from rich.text import Text

from autograder.cli._pace import Pace, how_far, waited
from autograder.cli._say import say
from autograder.reports.terminal import make_console

_LINE_SECONDS = 10.0  # between two lines
_SAME_SECONDS = 30.0  # between two lines of which the second says nothing new but the time
_RARELY_SECONDS = 60.0  # between two lines on what is waited for since long, such as a batch system's queue
_LONG_SECONDS = 120.0
_LOOK_SECONDS = 1.0
_REFRESHES = 4  # of a bar a second
_TITLE = 30  # columns of what is at work, at most
_BAR = 16
_NARROWEST = 8  # columns of a title that is worth its room


@dataclass(frozen=True, slots=True)
class _Wait:
    """What is waited for since when; it is said once that took ``after`` seconds."""

    sentence: str
    since: float
    after: float


class View(Protocol):
    """What shows how far a command is; safe to use from several threads.  A context manager."""

    def __enter__(self) -> View: ...

    def __exit__(self, *_: object) -> None: ...

    def at(self, done: int, total: int | None = None, title: str | None = None, fresh: bool = True) -> None:
        """So many are ``done``; ``fresh`` is False where that took no work, and tells nothing of the pace."""
        ...

    def wait(self, sentence: str | None, after: float = 0.0) -> None:
        """This is waited for from now on, or nothing any more; it is not said before it took ``after`` seconds."""
        ...


class _Meter:
    """What both kinds of view keep."""

    def __init__(self, total: int | None, title: str, clock: Callable[[], float]) -> None:
        self.clock = clock
        self.lock = threading.RLock()
        self.begun = clock()
        self.done, self.total, self.title = 0, total, title
        self.waiting: _Wait | None = None
        self._pace = Pace(clock)

    def at(self, done: int, total: int | None, title: str | None, fresh: bool) -> None:
        with self.lock:
            if fresh:
                self._pace.step(done - self.done)
                self.waiting = None  # what came of it shows that it is over
            self.done = done
            self.total = total if total is not None else self.total
            self.title = title if title is not None else self.title

    def wait(self, sentence: str | None, after: float) -> None:
        with self.lock:
            self.waiting = _Wait(sentence, self.clock(), after) if sentence is not None else None

    def words(self) -> str:
        with self.lock:
            left = self._pace.left(self.total - self.done) if self.total is not None else None
            return how_far(self.done, self.total, self.clock() - self.begun, left)

    def wait_words(self) -> str | None:
        """What is waited for, if that is to be said by now."""
        with self.lock:
            if self.waiting is None or (so_far := self.clock() - self.waiting.since) < self.waiting.after:
                return None
            return waited(self.waiting.sentence, so_far)


class Bar:
    """A bar, gone at the end; what is waited for stands above it."""

    def __init__(
        self,
        total: int | None = None,
        title: str = "starting",
        console: Console | None = None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._meter = _Meter(total, title, clock)
        console = console or make_console(sys.stderr)
        self._live = Live(console=console, get_renderable=lambda: self, refresh_per_second=_REFRESHES, transient=True)

    def __enter__(self) -> Bar:
        self._live.start(refresh=True)
        return self

    def __exit__(self, *_: object) -> None:
        self._live.stop()

    def at(self, done: int, total: int | None = None, title: str | None = None, fresh: bool = True) -> None:
        """So many are ``done``; see `View`."""
        self._meter.at(done, total, title, fresh)

    def wait(self, sentence: str | None, after: float = 0.0) -> None:
        """This is waited for from now on; see `View`."""
        self._meter.wait(sentence, after)

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        if (sentence := self._meter.wait_words()) is not None:
            yield Text(sentence)
        words, title = self._meter.words(), Text(self._meter.title)
        room = options.max_width - len(words) - 1
        row = Table.grid(padding=(0, 1))
        cells: list[Text | Padding | ProgressBar] = []
        if (width := min(_TITLE, room - _BAR - 1)) >= _NARROWEST:
            title.truncate(width, overflow="ellipsis" if not options.ascii_only else "crop")
            cells.append(title)
        if room >= _BAR:
            total = self._meter.total
            cells.append(ProgressBar(total=total, completed=self._meter.done, width=_BAR, pulse=total is None))
        for _ in (*cells, words):
            row.add_column(no_wrap=True)
        row.add_row(*cells, Text(words))
        yield row


class Lines:
    """A line now and then: what is waited for at once and every ten seconds, and how far it is whenever it gets on."""

    def __init__(
        self,
        total: int | None = None,
        tell: Callable[[str], None] = lambda line: say(line, err=True),
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._meter = _Meter(total, "", clock)
        self._tell = tell
        self._said = clock()
        self._told: _Wait | None = None
        self._counted = 0
        self._over = threading.Event()
        self._ticker = threading.Thread(target=self._tick_on, name="progress", daemon=True)

    def __enter__(self) -> Lines:
        self._ticker.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._over.set()
        self._ticker.join(_LOOK_SECONDS)

    def at(self, done: int, total: int | None = None, title: str | None = None, fresh: bool = True) -> None:
        """So many are ``done``; see `View`."""
        with self._meter.lock:
            self._meter.at(done, total, title, fresh)
            self._counted += fresh
            self.tick()

    def wait(self, sentence: str | None, after: float = 0.0) -> None:
        """This is waited for from now on; see `View`."""
        with self._meter.lock:
            self._meter.wait(sentence, after)
            self.tick()

    def tick(self) -> None:
        """Say what is to be said by now."""
        meter = self._meter
        with meter.lock:
            if self._over.is_set():
                return
            now, wait = meter.clock(), meter.waiting
            if wait is not None and (words := meter.wait_words()) is not None:
                pause = _LINE_SECONDS if now - wait.since < _LONG_SECONDS else _RARELY_SECONDS
                if self._told is not wait:
                    self._say(wait.sentence)
                    self._told = wait
                elif now - self._said >= pause:
                    self._say(words)
            elif meter.done and meter.done != meter.total and now - self._said >= self._pause():
                self._say(meter.words())
                self._counted = 0

    def _pause(self) -> float:
        return _LINE_SECONDS if self._counted else _SAME_SECONDS

    def _say(self, line: str) -> None:
        self._said = self._meter.clock()
        self._tell(line)

    def _tick_on(self) -> None:
        while not self._over.wait(_LOOK_SECONDS):
            self.tick()


def progress_of(total: int, plain: bool) -> View:
    """A bar where stderr is a terminal, unless asked for ``plain``; lines where it is none."""
    return Lines(total) if plain or not sys.stderr.isatty() else Bar(total)
