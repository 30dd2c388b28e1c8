"""Failures that say the same, which a report tells once."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import replace

from autograder.result import NAN_COMES_OF, NAN_COMES_OF_MASKS, CheckResult

_LINE = re.compile(r"(?:cell \d+, )?line \d+: ", re.IGNORECASE)
_TARGET = re.compile(r"Does not compile for sm_\d+(?: \(\w+\))?: ")
_NUMBER = re.compile(r"\d+(?:\.\d+)?(?:e[+-]?\d+)?")


def without_target(message: str) -> str:
    """A message of the compiler's for one GPU target as it is for all of them."""
    return _TARGET.sub("", message)


def first_to_say(checks: Sequence[CheckResult]) -> Iterator[tuple[CheckResult, CheckResult | None]]:
    """Each check, and the earlier failure that says the same, if there is one.

    Failures of one line may differ in their numbers, as where a store leaves tensors of several lengths.  What is
    explained in general is in the message of the first check that needs it, once.
    """
    told: dict[str, CheckResult] = {}
    explained: set[str] = set()
    for check in checks:
        if check.outcome in ("pass", "skipped"):
            yield check, None
            continue
        message = without_target(check.message).partition(" Compiled with ")[0]  # in which sizes
        numbered = _LINE.match(message)
        said = f"{check.outcome} {numbered[0]}{_NUMBER.sub('#', message)}" if numbered else message
        yield _without(check, explained), told.get(said)
        told.setdefault(said, check)


def _without(check: CheckResult, explained: set[str]) -> CheckResult:
    """A check without what is ``explained`` already; what it explains itself is added there."""
    message = check.message
    for sentence in (NAN_COMES_OF_MASKS, NAN_COMES_OF):
        first, found, rest = message.partition(sentence)
        if found:
            rest = rest.replace(f" {sentence}", "")
            message = f"{first.rstrip()}{rest}" if sentence in explained else f"{first}{sentence}{rest}"
            explained.add(sentence)
    return replace(check, message=message) if message != check.message else check
