"""How far a long command is: one wording, a time left that does not jump, and what is waited for."""

from __future__ import annotations

import heapq
import io
import random
import sys
import threading
from collections.abc import Callable, Sequence
from itertools import pairwise
from pathlib import Path
from types import SimpleNamespace

import pytest
from rich.console import Console

from autograder.cli import _bench, _collect, _progress, course, grade
from autograder.cli._pace import Pace, clock_of, how_far, waited
from autograder.cli._progress import Bar, Lines


class Clock:
    """A clock that goes only when it is told to."""

    def __init__(self) -> None:
        self.now = 1000.0

    def __call__(self) -> float:
        return self.now

    def go(self, seconds: float) -> None:
        self.now += seconds


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


# The words -----------------------------------------------------------------------------------------------------------


def test_times_gone_and_left_cannot_be_mixed_up() -> None:
    assert how_far(12, 60, 65.0, 190.0) == "12 of 60, 1:05 so far, about 3:10 left"
    assert how_far(1, 60, 7.2, None) == "1 of 60, 0:07 so far"
    assert how_far(0, None, 3.0, None) == "0:03 so far"
    assert waited("Connecting to login1:8786", 20.4) == "Connecting to login1:8786, 0:20 so far"
    assert how_far(1999, 2000, 40000.0, 4000.0).isascii()


@pytest.mark.parametrize(
    ("left", "words"),
    [(0.0, "0:05"), (33.0, "0:35"), (187.0, "3:10"), (601.0, "10:00"), (640.0, "11:00"), (4000.0, "1:07:00")],
)
def test_a_time_left_is_no_more_exact_than_it_is_known(left: float, words: str) -> None:
    assert how_far(3, 9, 100.0, left).endswith(f", about {words} left")


def test_hours_are_written_as_hours() -> None:
    assert [clock_of(seconds) for seconds in (0, 59.6, 3599, 3723)] == ["0:00", "1:00", "59:59", "1:02:03"]


# The time left --------------------------------------------------------------------------------------------------------


def test_nothing_is_said_before_there_is_something_to_tell_by() -> None:
    clock = Clock()
    pace = Pace(clock)
    for _ in range(4):  # three behind the first, in nine seconds
        pace.step()
        clock.go(3.0)
    assert pace.left(10) is None
    pace.step()
    clock.go(1.0)
    assert pace.left(10) == pytest.approx(29.0)
    slow = Pace(clock)
    for _ in range(3):  # long enough, and too few
        slow.step()
        clock.go(60.0)
    assert slow.left(10) is None


def test_what_is_slow_because_it_is_the_first_tells_nothing() -> None:
    clock = Clock()
    pace = Pace(clock)
    clock.go(80.0)
    for _ in range(8):
        pace.step()
        clock.go(2.0)
    assert pace.left(10) == pytest.approx(18.0)


def test_several_that_end_together_are_as_fast_as_their_round() -> None:
    clock = Clock()
    pace = Pace(clock)
    said = []
    for todo in (40, 32, 24, 16, 8):
        clock.go(30.0)
        for one in range(8):
            pace.step()
            said.append((todo + 7 - one, pace.left(todo + 7 - one)))
    assert all(left is None for _, left in said[:8])
    for todo, left in said[15:]:  # within half a round of the truth, also in the middle of one
        assert left == pytest.approx(todo / 8 * 30.0, abs=17.0)


def test_silence_makes_the_time_left_longer() -> None:
    clock = Clock()
    pace = Pace(clock)
    for _ in range(6):
        pace.step()
        clock.go(5.0)
    due = pace.left(4)
    clock.go(60.0)
    late = pace.left(4)
    assert due == pytest.approx(15.0)
    assert late is not None
    assert late > 45.0


def test_nothing_is_left_when_all_is_done() -> None:
    clock = Clock()
    pace = Pace(clock)
    for _ in range(9):
        pace.step()
        clock.go(5.0)
    assert pace.left(0) is None


def ends_of(slots: int, count: int, mean: float, spread: float, first: float) -> Sequence[float]:
    """When hand-ins end that so many workers grade, each worker's first one later by ``first``."""
    chance = random.Random(1)
    took = [max(0.5, chance.gauss(mean, spread)) for _ in range(count)]
    running = [first + seconds for seconds in took[:slots]]
    heapq.heapify(running)
    ends = []
    for seconds in took[slots:]:
        ends.append(heapq.heappop(running))
        heapq.heappush(running, ends[-1] + seconds)
    return sorted([*ends, *running])


@pytest.mark.parametrize(
    ("slots", "count", "mean", "spread", "first"),
    [(1, 60, 5.0, 2.0, 20.0), (2, 60, 10.0, 3.0, 25.0), (8, 200, 30.0, 10.0, 40.0), (4, 80, 8.0, 0.2, 60.0)],
)
def test_the_time_left_is_near_the_truth_from_the_first_time_it_is_said(
    slots: int, count: int, mean: float, spread: float, first: float
) -> None:
    clock = Clock()
    pace, begun = Pace(clock), clock.now
    ends = [begun + end for end in ends_of(slots, count, mean, spread, first)]
    ratios, done = [], 0
    while ends[-1] - clock.now > mean * 2:
        clock.go(0.5)
        until = clock.now
        while done < count and ends[done] <= until:
            clock.now = ends[done]
            pace.step()
            done += 1
        clock.now = until
        left = pace.left(count - done)
        if left is not None:
            ratios.append(left / (ends[-1] - until))
    assert len(ratios) > 100
    assert min(ratios) > 0.6
    assert max(ratios) < 1.7
    assert max(abs(later - earlier) for earlier, later in pairwise(ratios)) < 0.2


# What is shown --------------------------------------------------------------------------------------------------------


def drawn(bar: Bar, columns: int = 80) -> list[str]:
    console = Console(file=io.StringIO(), width=columns, force_terminal=False)
    with console.capture() as capture:
        console.print(bar)
    return capture.get().splitlines()


@pytest.mark.parametrize("columns", [40, 60, 80, 100])
def test_a_bar_says_both_times_in_its_width(columns: int) -> None:
    clock = Clock()
    bar = Bar(1000, "starting", Console(file=io.StringIO()), clock)
    for done in range(1, 13):
        clock.go(5.0)
        bar.at(done, title="a_student_with_a_very_long_name_1234567")
    clock.go(5.0)
    (line,) = drawn(bar, columns)
    assert len(line) <= columns
    assert "12 of 1000, 1:05 so far" in line
    if columns >= 60:
        assert line.endswith("12 of 1000, 1:05 so far, about 1:22:00 left")
    if columns >= 80:
        assert line.startswith("a_student_")


def test_a_bar_says_what_is_waited_for_until_something_came_of_it() -> None:
    clock = Clock()
    bar = Bar(60, "starting", Console(file=io.StringIO()), clock)
    bar.wait("Connecting to login1:8786")
    clock.go(12.0)
    assert drawn(bar)[0] == "Connecting to login1:8786, 0:12 so far"
    bar.wait("Grading the solutions first", after=3.0)
    clock.go(2.0)
    assert len(drawn(bar)) == 1
    bar.at(1, fresh=False)
    clock.go(2.0)
    assert drawn(bar)[0] == "Grading the solutions first, 0:04 so far"
    bar.at(2)
    assert len(drawn(bar)) == 1


def test_a_name_is_shown_as_it_is() -> None:
    bar = Bar(3, "starting", Console(file=io.StringIO()), Clock())
    bar.at(1, title="[red]ann[/red]")
    assert drawn(bar)[0].startswith("[red]ann[/red] ")


def test_lines_say_what_is_waited_for_at_once_and_every_ten_seconds() -> None:
    clock, said = Clock(), list[str]()
    lines = Lines(60, said.append, clock)
    lines.wait("Connecting to login1:8786")
    assert said == ["Connecting to login1:8786"]
    for _ in range(25):
        clock.go(1.0)
        lines.tick()
    assert said[1:] == ["Connecting to login1:8786, 0:10 so far", "Connecting to login1:8786, 0:20 so far"]
    lines.wait(None)
    clock.go(30.0)
    lines.tick()
    assert len(said) == 3


def test_lines_on_what_takes_long_come_once_it_does() -> None:
    clock, said = Clock(), list[str]()
    lines = Lines(60, said.append, clock)
    lines.wait("Grading the solutions first", after=3.0)
    clock.go(2.0)
    lines.tick()
    assert said == []
    clock.go(1.0)
    lines.tick()
    assert said == ["Grading the solutions first"]


def test_lines_on_a_long_queue_become_rare() -> None:
    clock, said = Clock(), list[str]()
    lines = Lines(60, said.append, clock)
    lines.wait("Waiting for workers of the cluster")
    for _ in range(3600):
        clock.go(1.0)
        lines.tick()
    assert 60 < len(said) < 80


def test_lines_say_how_far_it_is_now_and_then_and_not_at_the_end() -> None:
    clock, said = Clock(), list[str]()
    lines = Lines(12, said.append, clock)
    for done in range(1, 13):
        clock.go(5.0)
        lines.at(done)
    assert said == [
        "2 of 12, 0:10 so far",
        "4 of 12, 0:20 so far, about 0:40 left",
        "6 of 12, 0:30 so far, about 0:30 left",
        "8 of 12, 0:40 so far, about 0:20 left",
        "10 of 12, 0:50 so far, about 0:10 left",
    ]


def test_what_was_graded_before_tells_nothing_of_the_pace() -> None:
    clock, said = Clock(), list[str]()
    lines = Lines(100, said.append, clock)
    for done in range(1, 60):
        clock.go(1.0)
        lines.at(done, fresh=False)
    assert said == ["30 of 100, 0:30 so far"]


def test_that_nothing_gets_on_is_said_less_often() -> None:
    clock, said = Clock(), list[str]()
    lines = Lines(9, said.append, clock)
    lines.at(1)
    for _ in range(75):
        clock.go(1.0)
        lines.tick()
    assert said == ["1 of 9, 0:10 so far", "1 of 9, 0:40 so far", "1 of 9, 1:10 so far"]


def test_lines_come_by_themselves(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_progress, "_LOOK_SECONDS", 0.01)
    clock, came = Clock(), threading.Event()

    def tell(line: str) -> None:
        if line.endswith(", 0:11 so far"):
            came.set()

    with Lines(3, tell, clock) as lines:
        lines.wait("Connecting to login1:8786")
        clock.go(11.0)
        assert came.wait(30)
    clock.go(11.0)
    came.clear()
    lines.tick()
    assert not came.is_set()


# The commands ---------------------------------------------------------------------------------------------------------


def by_bench() -> None:
    with _bench._progress() as step:
        step(1, 5)


def by_grade() -> None:
    with grade._progress(5, False) as step:
        step(SimpleNamespace(id="score_mask"))


def by_selfcheck() -> None:
    def run(name: str, step: Callable[[int, int], None]) -> None:
        step(1, 5)

    course._run(SimpleNamespace(run=run), "solutions", False)  # type: ignore[arg-type]


def by_collect() -> None:
    _collect._with_progress(Path("in"), Path("out"), None, False, False)


@pytest.mark.parametrize("by", [by_bench, by_grade, by_selfcheck, by_collect])
def test_all_commands_use_the_same_words(by: Callable[[], None], monkeypatch: pytest.MonkeyPatch) -> None:
    def collecting(source: Path, out: Path, roster: None, step: Callable[[int, int], None], mixed: bool) -> None:
        step(1, 5)

    stderr = Terminal()
    monkeypatch.setattr(sys, "stderr", stderr)
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setattr(_collect, "collect_download", collecting)
    by()
    assert "1 of 5, 0:0" in stderr.getvalue()
    assert " so far" in stderr.getvalue()
