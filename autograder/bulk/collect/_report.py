"""What one run of collect did, for the summary."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from autograder.bulk.submissions import Submission


@dataclass(frozen=True, slots=True)
class Refusal:
    """A file that was not copied.  ``shown`` is safe to print, ``reason`` completes "<shown> ..."."""

    student: str | None
    shown: str
    reason: str


@dataclass(frozen=True, slots=True)
class Outcome:
    """One student of the download; ``state`` is new, updated, unchanged, older or empty.

    older: the attempt in the folder is later than the download's; empty: nothing usable was handed in.  ``trouble`` is
    what can be seen from outside of files that cannot be graded, safe to print, and empty if there is nothing to see.
    """

    submission: Submission
    state: str
    trouble: str = ""


@dataclass(frozen=True, slots=True)
class Collected:
    """All of it; every text is safe to print.

    ``total`` counts the students in the folder, those of earlier runs included.  ``missing`` are in the roster and
    handed in nothing; ``unmatched`` handed in and are not in the roster; ``called_late`` are those of whom the roster
    says in words that they are late.
    """

    out: Path
    lms: str
    total: int
    students: tuple[Outcome, ...]
    refused: tuple[Refusal, ...]
    unknown: tuple[str, ...]
    notes: tuple[str, ...] = ()
    missing: tuple[str, ...] = ()
    unmatched: tuple[str, ...] = ()
    called_late: tuple[str, ...] = ()

    def in_state(self, *states: str) -> tuple[str, ...]:
        """The ids of the students in a state."""
        return tuple(one.submission.student for one in self.students if one.state in states)

    @property
    def late(self) -> tuple[str, ...]:
        return tuple(one.submission.student for one in self.students if one.submission.late)

    @property
    def untimed(self) -> int:
        """Of how many nobody can tell whether they were late: the download says neither that nor when."""
        if self.lms == "canvas":
            return 0
        return sum(one.submission.submitted is None and not one.submission.late for one in self.students)

    @property
    def attempts(self) -> int:
        """How many attempts of the download's students are kept."""
        return sum(one.submission.attempts for one in self.students)
