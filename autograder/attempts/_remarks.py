"""What can be said for certain of an attempt, given those before it: one sentence, or nothing."""

from __future__ import annotations

from autograder.attempts._model import Attempt, History

_WORDS = ("no", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve")


def remark_on(history: History, attempt: Attempt) -> str:
    """How ``attempt`` stands beside the ``history`` before it, as the end of a sentence; "" if nothing is certain.

    Only attempts in the same setting are compared: the same device, seed, versions and checks.
    """
    history = history.before(attempt)
    before = [other if other.setting == attempt.setting else None for other in history.recent]
    last = before[-1] if before else None
    if attempt.passed:
        return _on_pass(history, last)
    if last is None:
        return _same_as_earlier(attempt, before)
    if last.passed:
        return "passed last time"
    if last.failure == attempt.failure:
        return f"same failure as last time{_in_a_row(attempt, before)}"
    if last.check == attempt.check and last.check and (change := _change(attempt, last)):
        return change
    return _same_as_earlier(attempt, before)


def count_of(number: int, noun: str) -> str:
    """``1 attempt``, ``2 attempts``."""
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"


def _on_pass(history: History, last: Attempt | None) -> str:
    if history.first_pass == 0:
        if history.count == 0:
            return "passed at the first attempt"
        return f"passed for the first time, after {count_of(history.count, 'attempt')}"
    return "passes again" if last is not None and not last.passed else ""


def _in_a_row(attempt: Attempt, before: list[Attempt | None]) -> str:
    alike = 1
    for other in reversed(before):
        if other is None or other.failure != attempt.failure:
            break
        alike += 1
    return f", {count_of(alike, 'time')} in a row" if alike > 2 else ""


def _same_as_earlier(attempt: Attempt, before: list[Attempt | None]) -> str:
    for ago, other in enumerate(reversed(before), 1):
        if other is not None and not other.passed and other.failure == attempt.failure:
            return f"same failure as {count_of(ago, 'attempt')} ago"
    return ""


def _change(attempt: Attempt, last: Attempt) -> str:
    """Fewer or more of what is wrong in the same output of the same check; "" where that is not known."""
    if attempt.output != last.output:
        return ""
    for now, then, noun in (
        (attempt.tiles, last.tiles, "faulty tile" if attempt.tile == last.tile else ""),
        (attempt.wrong, last.wrong, "wrong element"),
    ):
        if now is not None and then is not None and now != then and noun:
            difference = abs(now - then)
            word = "fewer" if now < then else "more"
            number = _WORDS[difference] if difference < len(_WORDS) else str(difference)
            return f"{number} {word} {noun}{'' if difference == 1 else 's'} than last time"
    return ""
