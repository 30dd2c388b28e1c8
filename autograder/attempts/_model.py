"""One attempt and the history of an exercise, as plain JSON values and back.

Standard library, `result` and `catalogue` only.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, replace
from typing import Any

from autograder.catalogue import TARGET_TIER
from autograder.result import CheckResult, ExerciseResult, RunResult

RECENT = 20  # attempts of an exercise that are kept one by one
_WORDS = 200  # characters of any text that is kept
_TRIED = frozenset({"pass", "partial", "fail", "refused", "compile-error", "timeout", "crashed", "out-of-memory"})
_AT_LINE = re.compile(r"^(?:Cell \d+, line|Line) \d+: ")


@dataclass(frozen=True, slots=True)
class Attempt:
    """One run of one exercise after a change.

    ``source`` is a hash of what was graded, ``checks`` one of the exercise, ``setting`` one of all that decides what
    comes out beside the source: device, seed, versions, checks.  ``check`` is the first that failed, ``failure`` a hash
    of how all failed.  ``wrong`` and ``tiles`` count what is wrong in ``output``; None is unknown.
    """

    source: str
    checks: str
    setting: str
    outcome: str
    score: float
    points: float
    check: str = ""
    failure: str = ""
    output: str = ""
    wrong: int | None = None
    tiles: int | None = None
    tile: str = ""

    @classmethod
    def of(cls, result: ExerciseResult, run: RunResult, digest: str) -> Attempt | None:
        """What is kept of a result; None where nothing was tried.  ``digest`` is a hash of the exercise."""
        if result.outcome not in _TRIED or result.source is None:
            return None
        how = [run.kit_version, run.seed, run.environment.device, run.environment.gpu]
        how += [run.environment.triton, run.environment.torch, digest]
        attempt = cls(result.source, digest[:16], _hash(how), result.outcome, result.score, result.points)
        failed = [check for check in result.checks if check.outcome not in ("pass", "skipped")]
        # The verdict of the compiler comes later, or not at all: where others tell enough, it tells nothing new.
        failed = [check for check in failed if check.tier != TARGET_TIER] or failed
        if result.passed:
            return attempt
        how_failed = [[check.id, check.outcome, _AT_LINE.sub("", check.message)] for check in failed]
        named = [item.mistake for item in result.diagnosis]
        attempt = replace(attempt, failure=_hash([result.outcome, result.message, how_failed, named]))
        return _with_counts(attempt, failed[0]) if failed else attempt

    @classmethod
    def read(cls, values: Any) -> Attempt:
        """An attempt from its plain values.

        Raises:
            ValueError: it is none.
        """
        if not isinstance(values, dict) or not values.keys() <= _FIELDS.keys():
            raise ValueError("no attempt")
        if not all(_FIELDS[name](value) for name, value in values.items()) or values.get("outcome") not in _TRIED:
            raise ValueError("no attempt")
        try:
            return cls(**values)
        except TypeError as error:
            raise ValueError("no attempt") from error

    @property
    def passed(self) -> bool:
        return self.outcome == "pass"


@dataclass(frozen=True, slots=True)
class History:
    """All that is kept of one exercise on one device: its newest attempts, the oldest first.

    ``count`` is how many there were in all, ``first_pass`` the number of the first that passed, 0 if none did.
    """

    count: int = 0
    first_pass: int = 0
    recent: tuple[Attempt, ...] = ()

    def with_attempt(self, attempt: Attempt) -> History:
        """The history after one more; one that changes nothing in file and setting takes the place of the last."""
        before = self.before(attempt)
        count = before.count + 1
        first = before.first_pass or (count if attempt.passed else 0)
        return History(count, first, (*before.recent, attempt)[-RECENT:])

    def before(self, attempt: Attempt) -> History:
        """The history without its last attempt, if ``attempt`` only repeats that."""
        if not self.recent or (self.recent[-1].source, self.recent[-1].setting) != (attempt.source, attempt.setting):
            return self
        first = self.first_pass if self.first_pass < self.count else 0
        return History(self.count - 1, first, self.recent[:-1])

    @classmethod
    def read(cls, values: Any) -> History:
        """A history from its plain values.

        Raises:
            ValueError: it is none.
        """
        if not isinstance(values, dict) or not isinstance(values.get("recent"), list):
            raise ValueError("no history")
        count, first = values.get("count"), values.get("first_pass")
        recent = tuple(Attempt.read(item) for item in values["recent"][-RECENT:])
        if type(count) is not int or type(first) is not int or not 0 <= first <= count or len(recent) > count:
            raise ValueError("no history")
        return cls(count, first, recent)

    def document(self) -> Mapping[str, Any]:
        return asdict(self)


def _is_text(value: Any) -> bool:
    return isinstance(value, str) and len(value) <= _WORDS


def _is_score(value: Any) -> bool:
    return type(value) in (int, float) and 0 <= value <= 1e6


def _is_count(value: Any) -> bool:
    return value is None or (type(value) is int and value >= 0)


_FIELDS: Mapping[str, Callable[[Any], bool]] = {
    **dict.fromkeys(("source", "checks", "setting", "outcome", "check", "failure", "output", "tile"), _is_text),
    **dict.fromkeys(("score", "points"), _is_score),
    **dict.fromkeys(("wrong", "tiles"), _is_count),
}


def _with_counts(attempt: Attempt, failed: CheckResult) -> Attempt:
    """The attempt with the check that failed first; numbers are kept only where they count all that is wrong."""
    attempt = replace(attempt, check=failed.id[:_WORDS])
    where = failed.where
    if where is None or where.get("whole") is not True:
        return attempt
    attempt = replace(attempt, output=str(where["output"])[:_WORDS], wrong=int(where["wrong"]))
    tiles = where.get("tiles")
    if isinstance(tiles, Mapping):
        attempt = replace(attempt, tiles=int(tiles["wrong"]), tile=str(tiles["of"])[:_WORDS])
    return attempt


def _hash(parts: Any) -> str:
    return hashlib.sha256(repr(parts).encode()).hexdigest()[:16]
