"""Contenders take turns, what lies between their launches is not counted, and the clock decides how many there are."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from autograder.worker.timing import Spread, take_turns


class FakeClock:
    """Time passes when something runs, and only then."""

    def __init__(self) -> None:
        self.now = 0.0
        self.ahead = 0

    def mark(self) -> float:
        return self.now

    def seconds(self, start: float, end: float) -> float:
        return end - start

    def settle(self) -> None:
        pass

    def get_ahead(self) -> None:
        self.ahead += 1
        self.now += 100.0


def runs(clock: FakeClock, calls: list[tuple[str, int]], **seconds: float) -> dict[str, Callable[[int], None]]:
    def of(name: str, taken: float) -> Callable[[int], None]:
        def run(number: int) -> None:
            calls.append((name, number))
            clock.now += taken

        return run

    return {name: of(name, taken) for name, taken in seconds.items()}


def test_each_contender_has_its_own_time_and_nothing_else_in_it() -> None:
    clock, calls = FakeClock(), []

    def between() -> None:
        clock.now += 7.0

    found = take_turns(runs(clock, calls, quick=0.001, slow=0.01), clock, 3, 0.03, between)
    assert found["quick"].median == pytest.approx(0.001)
    assert found["slow"].high == pytest.approx(0.01)
    assert clock.ahead == 6  # a turn each in three rounds


def test_turns_alternate_and_another_begins_each_round() -> None:
    clock, calls = FakeClock(), []
    take_turns(runs(clock, calls, a=0.01, b=0.01), clock, 2, 0.02)
    names = [name for name, _ in calls][6:]  # after those that find out how long one takes
    order = [name for place, name in enumerate(names) if place == 0 or names[place - 1] != name]
    assert order == ["a", "b", "a"]  # b begins the second round


def test_inputs_rotate() -> None:
    clock, calls = FakeClock(), []
    take_turns(runs(clock, calls, a=0.01), clock, 1, 0.05)
    timed = [number for _, number in calls][4:]
    assert len(timed) > 2
    assert timed == list(range(1, len(timed) + 1))


def test_a_turn_is_filled_and_never_with_more_than_thirty_launches() -> None:
    clock, calls = FakeClock(), []
    take_turns(runs(clock, calls, short=1e-6, long=10.0), clock, 1, 0.03)
    count = {name: sum(one == name for one, _ in calls) - 4 for name in ("short", "long")}
    assert count == {"short": 30, "long": 2}


def test_a_spread_leaves_out_a_tenth_at_either_end() -> None:
    spread = Spread.of([float(n) for n in range(11)])
    assert spread == Spread(5.0, 1.0, 9.0)
    assert Spread.of([2.0, 4.0]).median == 3.0
