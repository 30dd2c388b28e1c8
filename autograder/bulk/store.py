"""The folder of a class's results: where each file is, and how it is written: whole or not at all.

results/<student>.json   one result document a student (the instructor's: hidden checks with seed and message)
grades.csv               one line a student
overrides.csv            scores set by hand; kept through re-grading
collected.json           who handed in what, and when
hand-ins.json            what grading found: whose hand-ins, and their fingerprints, graded or not
roster.csv               a copy of the roster that grading was given
report.html feedback/    made by `course report` and `course feedback`
comments/                the instructor's words, by student
.kept/                   verdicts by source, so that nothing is run twice
.exported.json           what exports wrote, so that they overwrite nothing else
.running/                while a cluster is at work: its run, and which hand-ins are begun
"""

from __future__ import annotations

import fcntl
import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from autograder.bulk.due import Due, load_due, save_due
from autograder.bulk.roster import Roster, load_roster
from autograder.bulk.submissions import Submission, load, save
from autograder.errors import UsageError
from autograder.release.files import write_whole
from autograder.result import RunResult, from_document, to_json


class Store:
    """The results under ``out``; nothing is made before something is written."""

    def __init__(self, out: Path) -> None:
        self.out = out
        self.results = out / "results"
        self.overrides = out / "overrides.csv"
        self.grades = out / "grades.csv"
        self.feedback = out / "feedback"
        self.report = out / "report.html"
        self.kept = out / ".kept"
        self.exported = out / ".exported.json"
        self.running = out / ".running"
        self._lock = out / ".lock"
        self._roster = out / "roster.csv"
        self._collected = out / "collected.json"
        self._hand_ins = out / "hand-ins.json"

    def own_places(self) -> tuple[Path, ...]:
        """All files and folders that are the kit's, or that it reads."""
        named = (self.results, self.overrides, self.grades, self.feedback, self.report, self.kept, self.exported)
        return (*named, self.running, self._lock, self._roster, self._collected, self._hand_ins, self.out / "comments")

    def students(self) -> tuple[str, ...]:
        """Ids with a result, sorted."""
        if not self.results.is_dir():
            return ()
        return tuple(sorted(path.stem for path in self.results.glob("*.json") if not path.name.startswith(".")))

    def path(self, student: str) -> Path:
        return self.results / f"{student}.json"

    def read(self, student: str) -> RunResult | None:
        """A student's result; None if there is none or if it is damaged."""
        try:
            return from_document(json.loads(self.path(student).read_text(encoding="utf-8")))
        except (OSError, ValueError, RecursionError):
            return None

    def write(self, student: str, result: RunResult) -> None:
        """Write a student's result, whole or not at all.

        Raises:
            UsageError: it cannot be written.
        """
        try:
            self.results.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise self._unwritable(error) from error
        write_whole(self.path(student), to_json(result).encode())

    def roster(self) -> Roster:
        """The roster that grading was given; empty if none."""
        return load_roster(self._roster) if self._roster.exists() else Roster()

    def keep_roster(self, path: Path) -> None:
        load_roster(path)
        write_whole(self._roster, path.read_bytes())

    def submissions(self) -> Mapping[str, Submission]:
        return load(self._collected)

    def keep_submissions(self, found: Mapping[str, Submission]) -> None:
        save(self._collected, found)

    def due(self) -> Due:
        """Whose hand-ins the latest grading found, and what a result of each must be of.

        Raises:
            UsageError: the file is damaged.
        """
        return load_due(self._hand_ins)

    def keep_due(self, due: Due) -> None:
        """Note what is to be graded, before it is graded.

        Raises:
            UsageError: the folder cannot be written to.
        """
        self._make()
        save_due(self._hand_ins, due)

    @contextmanager
    def locked(self) -> Iterator[None]:
        """Hold the folder as one's own; it is free again when its holder is gone, however it went.

        Raises:
            UsageError: somebody else holds it, or it cannot be made.
        """
        self._make()
        try:
            stream = self._lock.open("w")
        except OSError as error:
            raise self._unwritable(error) from error
        with stream:
            try:
                fcntl.flock(stream, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                raise UsageError(f"Another `course grade` is at work in {self.out}. Wait for it, or stop it.") from None
            except OSError as error:
                why = (error.strerror or str(error)).lower()
                raise UsageError(
                    f"The file system of {self.out} keeps no locks ({why}), without which two runs could meet there. "
                    "Mount it with locks (Lustre: `-o flock`), or choose another --out."
                ) from error
            yield

    def _make(self) -> None:
        try:
            self.out.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise self._unwritable(error) from error

    def _unwritable(self, error: OSError) -> UsageError:
        return UsageError(f"The folder {self.out} cannot be written to ({error.strerror}).")
