"""A small course and a class whose results are made by hand: no kernel runs."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path

from autograder.bulk.overrides import Override, save_overrides
from autograder.bulk.store import Store
from autograder.bulk.submissions import Submission
from autograder.result import CheckResult, Environment, ExerciseResult, RunResult, Sandbox

# Whatever is said of a hidden check holds this word.
SECRET = "s3cr3t"
DEADLINE = datetime(2026, 12, 1, 12, tzinfo=UTC)

# id -> lesson, points, optional; the course's order is not that of the alphabet
EXERCISES = {"softmax": (7, 3.0, False), "loads": (7, 2.0, False), "flash": (8, 5.0, False), "extra": (8, 1.0, True)}

_EXERCISE = """
title = "The {name} kernel"
points = {points}
file = "kernels.py"
optional = {optional}
compare = {{ out = "close" }}

[[functions]]
name = "{name}"
parameters = ["x"]

[[checks]]
id = "tiny"
tier = "tiny"
proves = "It works."
case = {{ n = 1 }}
"""


def make_course(root: Path, title: str = "Mini Flash, 2nd") -> None:
    """Two lessons, of which the first has a deadline; a day late costs 10%."""
    text = f'title = "{title}"\n[late]\nper_day = 0.1\nat_most = 0.5\n'
    for lesson in (7, 8):
        ids = [name for name, (where, _, _) in EXERCISES.items() if where == lesson]
        text += f'[[lesson]]\nnumber = {lesson}\ntitle = "Lesson {lesson}"\nexercises = {ids}\n'
        text += f"deadline = {DEADLINE.isoformat()}\n" if lesson == 7 else ""
    for name, (lesson, points, optional) in EXERCISES.items():
        folder = root / "course" / "exercises" / f"lesson{lesson}" / name
        folder.mkdir(parents=True)
        toml = _EXERCISE.format(name=name, points=points, optional=str(optional).lower())
        (folder / "exercise.toml").write_text(toml)
    (root / "course" / "course.toml").write_text(text)


def exercise(name: str, score: float, outcome: str | None = None, public_fails: bool = False) -> ExerciseResult:
    """One exercise with two public checks and a hidden one, which fails where points are missing."""
    lesson, points, optional = EXERCISES[name]
    found = outcome or ("pass" if score == points else "partial" if score else "fail")
    bad = "fail" if found in ("partial", "fail") else "pass"
    visible = CheckResult("ragged", "ragged", 1, False, bad if public_fails else "pass", "Ragged.", "row 3 is off by 2")
    hidden = CheckResult(
        f"{SECRET}_id",
        "stress",
        1,
        True,
        bad,
        f"{SECRET} proof",
        f"{SECRET} message",
        {SECRET: 1},
        {SECRET: 9},
        None,
        42,
    )
    checks = (CheckResult("tiny", "tiny", 1, False, "pass", "It works.", "fine"), visible, hidden)
    if found in ("not-started", "grader-error"):
        checks = ()
    return ExerciseResult(
        name, lesson, f"The {name} kernel", points, score, optional, found, 1.5, "k.py", 1, not optional, "", checks
    )


@dataclass
class Classroom:
    """The folder of a class's results, filled student by student."""

    root: Path
    out: Path
    overrides: list[Override] = field(default_factory=list)
    submissions: dict[str, Submission] = field(default_factory=dict)

    def add(
        self,
        student: str,
        scores: Mapping[str, float | ExerciseResult],
        submission: Submission | None = None,
        error: str | None = None,
        names: Iterable[str] = tuple(EXERCISES),
    ) -> None:
        """``scores`` in points by exercise; those among ``names`` that have none are not started."""
        exercises = []
        for name in names:
            score = scores.get(name, exercise(name, 0.0, "not-started"))
            exercises.append(score if isinstance(score, ExerciseResult) else exercise(name, score))
        environment = Environment("cpu", None, "3.9.0", "2.13.0", "2.4.6", "3.11")
        result = RunResult(
            "0.1.0", "Mini Flash", 7, True, environment, Sandbox(), tuple(exercises), student=student, error=error
        )
        Store(self.out).write(student, result)
        if submission is not None:
            self.submissions[student] = submission
            Store(self.out).keep_submissions(self.submissions)

    def override(self, student: str, name: str, score: float) -> None:
        self.overrides.append(Override(student, name, score, f"{SECRET} reason"))
        table: dict[str, dict[str, Override]] = {}
        for item in self.overrides:
            table.setdefault(item.student, {})[item.exercise] = item
        save_overrides(Store(self.out).overrides, table)

    def no_overrides(self) -> None:
        self.overrides.clear()
        save_overrides(Store(self.out).overrides, {})

    def roster(self, text: str) -> Path:
        path = self.root / "roster.csv"
        path.write_text(text, encoding="utf-8")
        return path


FULL = {"softmax": 3.0, "loads": 2.0, "flash": 5.0}


def canvas(student: str, name: str, number: str | None, submitted: datetime | None = None) -> Submission:
    return Submission(student, name, "canvas", number, submitted)


def moodle(student: str, name: str, number: str | None) -> Submission:
    return Submission(student, name, "moodle", number)


def table(text: str) -> list[list[str]]:
    """A CSV's rows."""
    return list(csv.reader(io.StringIO(text, newline="")))
