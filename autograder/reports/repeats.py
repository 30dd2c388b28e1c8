"""Failures that say the same, which a report tells once."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from autograder.result import CheckResult

_LINE = re.compile(r"(?:cell \d+, )?line \d+: ", re.IGNORECASE)
_TARGET = re.compile(r"Does not compile for sm_\d+(?: \(\w+\))?: ")
_NUMBER = re.compile(r"\d+(?:\.\d+)?(?:e[+-]?\d+)?")


def without_target(message: str) -> str:
    """A message of the compiler's for one GPU target as it is for all of them."""
    return _TARGET.sub("", message)


def first_to_say(checks: Sequence[CheckResult]) -> Iterator[tuple[CheckResult, CheckResult | None]]:
    """Each check, and the earlier failure that says the same, if there is one.

    Failures of one line may differ in their numbers, as where a store leaves tensors of several lengths.
    """
    told: dict[str, CheckResult] = {}
    for check in checks:
        if check.outcome in ("pass", "skipped"):
            yield check, None
            continue
        message = without_target(check.message).partition(" Compiled with ")[0]  # in which sizes
        numbered = _LINE.match(message)
        said = f"{check.outcome} {numbered[0]}{_NUMBER.sub('#', message)}" if numbered else message
        yield check, told.get(said)
        told.setdefault(said, check)
