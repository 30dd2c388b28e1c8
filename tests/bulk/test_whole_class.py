"""A synthetic class of 60, from the zip of an LMS to grades, feedback and gradebooks, by the commands of the docs.

Killed at random moments and started again it ends with the same grades.
"""

from __future__ import annotations

import csv
import json
import os
import random
import shutil
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.lessons import keep_lesson
from tests.synthetic_class import Invented, write_all

ROOT = Path(__file__).parents[2]
STUDENTS = 60

pytestmark = pytest.mark.exhaustive


@dataclass(frozen=True)
class Setting:
    folder: Path
    course: Path
    invented: list[Invented]

    def command(self, *arguments: str | Path) -> list[str]:
        return [sys.executable, "-c", IMPATIENT, "--root", str(self.course), *map(str, arguments)]

    def run(self, *arguments: str | Path, code: int = 0) -> subprocess.CompletedProcess[str]:
        done = subprocess.run(self.command(*arguments), cwd=ROOT, capture_output=True, text=True, check=False)
        assert done.returncode == code, f"{arguments}: {done.returncode}\n{done.stdout}{done.stderr}"
        return done

    def grade(self, hand_ins: str, out: str, *more: str | Path) -> list[str]:
        return self.command("grade", self.folder / hand_ins, "--out", self.folder / out, *GRADE, *more)


# The command as it is, but for the time that a loop without end may take.
IMPATIENT = """
from autograder import session
from autograder.protocol import Limits
session.LIMITS["cpu"] = Limits(cpu_seconds=4.0, wall_seconds=30.0)
from autograder.cli.course import main
from tests.lessons import keep_lesson
main()
"""
GRADE = ("--device", "cpu", "--no-targets", "--plain")


@pytest.fixture(scope="module")
def setting(tmp_path_factory: pytest.TempPathFactory) -> Setting:
    folder = tmp_path_factory.mktemp("class")
    course = folder / "course-root"
    for part in ("course", "solutions"):
        shutil.copytree(ROOT / part, course / part, ignore=shutil.ignore_patterns(".secret", "__pycache__"))
    keep_lesson(course, 7)
    toml = course / "course" / "course.toml"
    toml.write_text(toml.read_text().replace("number = 7\n", "number = 7\ndeadline = 2026-12-06T23:59:00+01:00\n"))
    return Setting(folder, course, write_all(folder, STUDENTS))


@pytest.fixture(scope="module")
def canvas(setting: Setting) -> Path:
    """The class graded from Canvas's zip in one go."""
    roster = setting.folder / "canvas_gradebook.csv"
    setting.run("collect", setting.folder / "canvas.zip", "--out", setting.folder / "from-canvas", "--roster", roster)
    subprocess.run(
        setting.grade("from-canvas", "canvas", "--roster", roster), cwd=ROOT, check=True, capture_output=True
    )
    return setting.folder / "canvas"


def by_lms_id(out: Path) -> dict[str, dict[str, str]]:
    with (out / "grades.csv").open(encoding="utf-8", newline="") as stream:
        return {row["student"].rpartition("_")[2]: row for row in csv.DictReader(stream)}


def what_counts(out: Path) -> dict[str, list[tuple[str, str, float]]]:
    """What the kernels earned, by the LMS's id: lateness is told by Canvas only, and names differ."""
    found = {}
    for path in (out / "results").glob("*.json"):
        exercises = json.loads(path.read_text(encoding="utf-8"))["exercises"]
        found[path.stem.rpartition("_")[2]] = [(e["id"], e["outcome"], e["score"]) for e in exercises]
    return found


def test_every_kind_of_student_gets_what_is_due(setting: Setting, canvas: Path) -> None:
    rows = by_lms_id(canvas)
    outcomes = {key: [value for name, value in row.items() if name.endswith("_outcome")] for key, row in rows.items()}
    due: dict[str, Callable[[list[str]], bool]] = {
        "good": lambda found: found == ["pass"] * 6,
        "duplicate": lambda found: found == ["pass"] * 6,
        "zipped": lambda found: found == ["pass"] * 6,
        "notebook": lambda found: found == ["pass"] * 6,
        "half": lambda found: found == ["pass"] * 4 + ["not-started"] * 2,
        "wrong": lambda found: sum(one == "pass" for one in found) == 5,
        "empty": lambda found: found == ["not-started"] * 6,
        "untouched": lambda found: found == ["not-started"] * 6,
        "broken": lambda found: found[4] == "compile-error" and found[5] == "pass",
        "hostile": lambda found: sum(one == "pass" for one in found) >= 5,
    }
    handed_in = [student for student in setting.invented if student.files]  # Canvas's zip names nobody else
    assert len(handed_in) == len(rows) > 50
    for student in handed_in:
        assert due[student.kind](outcomes[str(student.lms_id)]), (student, outcomes[str(student.lms_id)])


def test_lateness_costs_what_the_course_says(setting: Setting, canvas: Path) -> None:
    rows = by_lms_id(canvas)
    late = [student for student in setting.invented if student.late and student.files and student.kind == "good"]
    assert late
    for student in late:
        document = json.loads(next((canvas / "results").glob(f"*_{student.lms_id}.json")).read_text())
        assert document["total"]["score"] == 10.0
        row = rows[str(student.lms_id)]
        assert float(row.get("total") or row["score"]) == 9.0


def test_killed_at_random_and_started_again_the_grades_are_the_same(setting: Setting, canvas: Path) -> None:
    command = setting.grade("from-canvas", "killed")
    chance = random.Random(20261129)
    out = setting.folder / "killed"
    kills = 0
    for _ in range(3):
        before = len(list((out / "results").glob("*.json"))) if out.is_dir() else 0
        process = subprocess.Popen(command, cwd=ROOT, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        goal = before + chance.randint(3, 12)
        while process.poll() is None and (not out.is_dir() or len(list(out.glob("results/*.json"))) < goal):
            time.sleep(0.02)
        time.sleep(chance.random())
        kills += process.poll() is None
        process.kill()
        process.wait()
        for path in out.glob("results/*.json"):
            json.loads(path.read_text())
    assert kills == 3
    written = {path: path.stat().st_mtime_ns for path in out.glob("results/*.json")}
    done = subprocess.run(command, cwd=ROOT, check=True, capture_output=True, text=True)
    assert f"unchanged {len(written)}" in done.stdout
    assert written == {path: path.stat().st_mtime_ns for path in written}
    assert what_counts(out) == what_counts(canvas)


def test_a_moodle_download_gives_the_same_grades(setting: Setting, canvas: Path) -> None:
    roster = setting.folder / "moodle_worksheet.csv"
    setting.run("collect", setting.folder / "moodle.zip", "--out", setting.folder / "from-moodle", "--roster", roster)
    out = setting.folder / "moodle"
    shutil.copytree(canvas / ".kept", out / ".kept")  # the kernels are the same
    subprocess.run(
        setting.grade("from-moodle", "moodle", "--roster", roster), cwd=ROOT, check=True, capture_output=True
    )
    moodle = what_counts(out)
    assert {key: moodle[key] for key in what_counts(canvas)} == what_counts(canvas)
    filled = setting.folder / "moodle.csv"
    setting.run("export", out, "--to", "moodle", "--out", filled)
    with filled.open(encoding="utf-8-sig", newline="") as stream:
        rows = list(csv.DictReader(stream))
    assert len(rows) == STUDENTS
    assert sum(row["Grade"] != "" for row in rows) == len(moodle)
    setting.run("feedback", out)
    assert (out / "feedback" / "moodle.zip").is_file()


def test_two_runs_give_the_same_grades_to_the_last_digit(setting: Setting, canvas: Path) -> None:
    some = [path.stem for path in sorted((canvas / "results").glob("*.json"))][:10]
    only = [word for student in some for word in ("--student", student)]
    subprocess.run(setting.grade("from-canvas", "again", *only), cwd=ROOT, check=True, capture_output=True)
    for student in some:
        documents = [
            json.loads((out / "results" / f"{student}.json").read_text()) for out in (canvas, setting.folder / "again")
        ]
        for document in documents:
            for exercise in document["exercises"]:
                exercise.pop("seconds")
                for check in exercise["checks"]:
                    check["measurements"].pop("seconds", None)
        assert documents[0] == documents[1]


def test_feedback_report_and_exports_of_the_class(setting: Setting, canvas: Path) -> None:
    setting.run("feedback", canvas)
    setting.run("report", canvas)
    rows = by_lms_id(canvas)
    assert len(list((canvas / "feedback").glob("*.html"))) == len(rows)
    assert (canvas / "feedback" / "canvas.zip").is_file()
    target = setting.folder / "import.csv"
    setting.run("export", canvas, "--to", "canvas", "--out", target)
    with target.open(encoding="utf-8-sig", newline="") as stream:
        header, *lines = list(csv.reader(stream))
    assert header[:2] == ["Student", "ID"]
    assert {line[1] for line in lines if line[1]} == set(rows)
    printed = setting.run("export", canvas, "--to", "csv").stdout
    assert len(printed.splitlines()) == len(rows) + 1


def test_the_class_goes_into_a_gradebook_of_nbgrader(setting: Setting, canvas: Path) -> None:
    python = ROOT / ".venv-nbgrader" / "bin" / "python"
    if not python.exists():
        pytest.skip("nbgrader's environment is not there: make nbgrader")
    book = setting.folder / "gradebook.db"
    setting.run("export", canvas, "--to", "nbgrader", "--out", book, "--python", python)
    exported = setting.folder / "grades-of-nbgrader.csv"
    subprocess.run(
        [python, "-m", "nbgrader", "export", f"--db=sqlite:///{book}", f"--to={exported}"],
        cwd=setting.folder,
        check=True,
        capture_output=True,
        env={**os.environ, "PATH": f"{python.parent}{os.pathsep}{os.environ['PATH']}"},
    )
    text = exported.read_text(encoding="utf-8")
    assert len(text.splitlines()) == len(by_lms_id(canvas)) + 1
