"""A copy of the course that a test may change, and a class of a few."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from autograder.bulk.desk import Work
from autograder.bulk.engines.local import LocalEngine
from autograder.bulk.grading import ClassRun, Summary
from autograder.bulk.hand_ins import list_hand_ins
from autograder.bulk.secret import load_secret
from autograder.bulk.store import Store
from autograder.catalogue import Course, load_course
from autograder.plan import Reference
from autograder.session import Grader
from tests.lessons import keep_lesson

ROOT = Path(__file__).parents[2]


@pytest.fixture
def own_course(tmp_path: Path) -> Course:
    """Lesson 7 in a folder of its own."""
    root = tmp_path / "own"
    for part in ("course", "solutions"):
        shutil.copytree(ROOT / part, root / part, ignore=shutil.ignore_patterns(".secret", "__pycache__"))
    keep_lesson(root, 7)
    return load_course(root)


@pytest.fixture
def hand_ins(tmp_path: Path) -> Path:
    """anna is right, ben has not begun, cleo is right in Part A only."""
    folder = tmp_path / "hand-ins"
    shutil.copytree(ROOT / "solutions" / "lesson7", folder / "anna", ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copytree(ROOT / "assignments" / "lesson7", folder / "ben", ignore=shutil.ignore_patterns("__pycache__"))
    (folder / "cleo").mkdir()
    shutil.copy(ROOT / "solutions" / "lesson7" / "one_shot_attention.py", folder / "cleo")
    return folder


Run = Callable[..., tuple[Summary, list[str]]]


@pytest.fixture
def grade_class(hand_ins: Path, tmp_path: Path) -> Run:
    """Grades the class without target checks; returns the summary and who was graded."""

    def grade(course: Course, exercises: tuple[str, ...] = (), seed: int = 7) -> tuple[Summary, list[str]]:
        reference = Reference.load(course, load_secret(course.root / "solutions" / ".secret"))
        store = Store(tmp_path / "out")
        graded: list[str] = []

        def make() -> Grader:
            return Grader(course, "cpu", jobs=1, targets="off", kept=store.kept)

        work = Work(course, store, reference, course.select(exercises), seed)
        summary = ClassRun(work, LocalEngine([make], 2)).run(
            list_hand_ins(hand_ins)[0],
            lambda progress: graded.append(progress.student) if progress.fresh else None,
        )
        return summary, sorted(graded)

    return grade
