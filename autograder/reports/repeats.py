"""Failures that say the same, which a report tells once."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from autograder.result import CheckResult

_LINE = re.compile(r"(?:cell \d+, )?line \d+: ", re.IGNORECASE)
_NUMBER = re.compile(r"\d+(?:\.\d+)?(?:e[+-]?\d+)?")


def first_to_say(checks: Sequence[CheckResult]) -> Iterator[tuple[CheckResult, CheckResult | None]]:
    """Each check, and the earlier failure that says the same, if there is one.

    Failures of one line may differ in their numbers, as where a store leaves tensors of several lengths.
    """
    told: dict[str, CheckResult] = {}
    for check in checks:
        if check.outcome in ("pass", "skipped"):
            yield check, None
            continue
        numbered = _LINE.match(check.message)
        said = f"{check.outcome} {numbered[0]}{_NUMBER.sub('#', check.message)}" if numbered else check.message
        yield check, told.get(said)
        told.setdefault(said, check)
