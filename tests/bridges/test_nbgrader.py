"""nbgrader's gradebook, read back by nbgrader itself: `nbgrader export` and what its formgrader asks for."""

from __future__ import annotations

import csv
import json
import os
import subprocess
import venv
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from autograder.bridges._gradebook import first_and_last
from autograder.bulk.grades import class_grades
from autograder.catalogue import load_course
from autograder.nbgrader_names import assignment_name
from tests.bridges.classroom import DEADLINE, FULL, SECRET, Classroom, canvas, exercise
from tests.bridges.conftest import Export

pytestmark = pytest.mark.exhaustive

NAME = "mini-flash-2nd"

# What the formgrader's pages ask the gradebook for.
_READ = """
import json, sys
from nbgrader.api import Gradebook
with Gradebook("sqlite:///" + sys.argv[1]) as book:
    def everything(name):
        return {
            "submissions": book.submission_dicts(name),
            "notebooks": {one.name: book.notebook_submission_dicts(one.name, name)
                          for one in book.find_assignment(name).notebooks},
            "grades": {s.student.id: {g.name: g.to_dict() for n in s.notebooks for g in n.grades}
                       for s in book.assignment_submissions(name)},
            "comments": {s.student.id: {c.name: c.to_dict() for n in s.notebooks for c in n.comments}
                         for s in book.assignment_submissions(name)},
            "average": book.average_assignment_score(name),
        }
    print(json.dumps({
        "students": {one["id"]: one for one in book.student_dicts()},
        "assignments": {one.name: one.to_dict() for one in book.assignments},
        **everything(sys.argv[2]),
    }, default=str))
"""

# What the formgrader's list of assignments shows.
_LIST = """
import json, sys
from nbgrader.apps.api import NbGraderAPI
from nbgrader.coursedir import CourseDirectory
from traitlets.config import Config
config = Config()
config.CourseDirectory.root = sys.argv[1]
config.CourseDirectory.db_url = "sqlite:///" + sys.argv[1] + "/gradebook.db"
print(json.dumps(NbGraderAPI(CourseDirectory(config=config), config=config).get_assignments(), default=str))
"""

# What a person does in the formgrader, and another assignment of the same class.
_TOUCH = """
import sys
from nbgrader.api import Gradebook
with Gradebook("sqlite:///" + sys.argv[1]) as book:
    book.find_comment("flash", "lesson8", sys.argv[2], "ann").manual_comment = "Well done."
    book.find_grade("flash", "lesson8", sys.argv[2], "ann").extra_credit = 0.25
    book.find_grade("loads", "lesson7", sys.argv[2], "ann").manual_score = 0.5
    book.add_assignment("homework-1")
    book.add_notebook("nb", "homework-1")
    book.add_grade_cell("cell", "nb", "homework-1", max_score=4, cell_type="code")
    book.add_submission("homework-1", "ann")
    book.find_grade("cell", "nb", "homework-1", "ann").auto_score = 3
    book.db.commit()
"""


@pytest.fixture
def python(nbgrader_python: Path) -> Path:
    return nbgrader_python


@pytest.fixture
def bare_python(tmp_path: Path) -> Path:
    """A Python without any package."""
    venv.create(tmp_path / "bare")
    return tmp_path / "bare" / "bin" / "python"


def read(python: Path, database: Path, name: str = NAME) -> dict[str, Any]:
    printed = subprocess.run([python, "-c", _READ, database, name], capture_output=True, text=True, check=False)
    assert printed.returncode == 0, printed.stderr
    document: dict[str, Any] = json.loads(printed.stdout)
    return document


def totals(classroom: Classroom, bonus: bool = False) -> dict[str, float]:
    grades = class_grades(load_course(classroom.root), classroom.out)
    return {one.student: one.score + (one.bonus if bonus else 0) for one in grades.students}


def exported(python: Path, folder: Path) -> dict[str, dict[str, str]]:
    """The lines of `nbgrader export` for our assignment, by student."""
    home = {**os.environ, "HOME": str(folder), "JUPYTER_CONFIG_DIR": str(folder / "jupyter")}
    command = [python.parent / "nbgrader", "export", "--to", "out.csv", "--db", "sqlite:///gradebook.db"]
    printed = subprocess.run(command, cwd=folder, env=home, capture_output=True, text=True, check=False)
    assert printed.returncode == 0, printed.stderr
    with (folder / "out.csv").open(encoding="utf-8", newline="") as file:
        return {row["student_id"]: row for row in csv.DictReader(file) if row["assignment"] == NAME}


@pytest.fixture
def class_of_three(classroom: Classroom) -> Classroom:
    """Ann on time, Bob a day late and with an override, Cy without a name or a time."""
    classroom.add("ann", FULL, canvas("ann", "Åström, Ann", "11", DEADLINE - timedelta(hours=1)))
    partial = {"softmax": exercise("softmax", 1.0, public_fails=True), "loads": 2.0, "flash": 2.5, "extra": 0.5}
    classroom.add("bob", partial, canvas("bob", "Bob van Doe", "12", DEADLINE + timedelta(minutes=150)))
    classroom.override("bob", "loads", 1.5)
    classroom.add("cy", {"flash": exercise("flash", 0.0, "timeout")})
    return classroom


def test_nbgrader_export_says_the_totals_that_we_say(
    class_of_three: Classroom, export: Export, python: Path, tmp_path: Path
) -> None:
    # A PATH without nbgrader's programs: a new gradebook needs `alembic`.
    printed = export(
        "--to", "nbgrader", "--out", tmp_path / "gradebook.db", "--python", python, path="/usr/local/bin:/usr/bin:/bin"
    )
    assert printed.returncode == 0, printed.stderr
    rows = exported(python, tmp_path)
    assert {student: float(row["score"]) for student, row in rows.items()} == pytest.approx(totals(class_of_three))
    assert {row["max_score"] for row in rows.values()} == {"10.0"}
    bob = rows["bob"]
    assert (float(bob["raw_score"]), float(bob["late_submission_penalty"])) == pytest.approx((5.0, 0.1))
    assert (bob["first_name"], bob["last_name"], bob["timestamp"]) == ("Bob van", "Doe", "2026-12-01 14:30:00")
    assert (rows["ann"]["last_name"], rows["ann"]["first_name"]) == ("Åström", "Ann")
    assert rows["cy"]["timestamp"] == ""
    assert rows["ann"]["duedate"] == "2026-12-01 12:00:00"
    assert not list(tmp_path.glob(".export-*"))


def test_the_formgrader_finds_scores_overrides_and_comments(
    class_of_three: Classroom, export: Export, python: Path, tmp_path: Path
) -> None:
    database = tmp_path / "gradebook.db"
    assert export("--to", "nbgrader", "--out", database, "--python", python).returncode == 0
    found = read(python, database)
    assert found["students"]["bob"]["lms_user_id"] == "12"
    assert found["students"]["cy"]["first_name"] is None
    assert {one["student"]: one["score"] for one in found["submissions"]} == {"ann": 10, "bob": 5, "cy": 0}
    assert {one["max_score"] for one in found["submissions"]} == {10}
    assert not any(one["needs_manual_grade"] for one in found["submissions"])
    assert {name: len(lines) for name, lines in found["notebooks"].items()} == {"lesson7": 3, "lesson8": 3}
    loads = found["grades"]["bob"]["loads"]
    assert (loads["auto_score"], loads["manual_score"], loads["max_score"]) == (2, 1.5, 2)
    extra = found["grades"]["bob"]["extra"]
    assert (extra["auto_score"], extra["max_score"], extra["needs_manual_grade"]) == (None, 0, False)
    comments = {name: one["auto_comment"] for name, one in found["comments"]["bob"].items()}
    assert comments["softmax"] == (
        "partial: public 1 of 2. 1 hidden check: 0 passed, 0 of 1 point. ragged: row 3 is off by 2 Lesson 7: "
        "handed in 2 h 30 min after the deadline of 2026-12-01 12:00 UTC. That costs 10% of its score."
    )
    assert (
        comments["loads"]
        == "pass: public 2 of 2. 1 hidden check: 1 passed, 0.67 of 0.67 points. The score was set by hand."
    )
    assert comments["flash"] == "partial: public 2 of 2. 1 hidden check: 0 passed, 0 of 1.67 points."
    assert found["comments"]["cy"]["loads"]["auto_comment"] == "not-started."
    assert SECRET.encode() not in database.read_bytes()


def test_the_formgrader_lists_the_assignment_once_it_has_a_folder(
    classroom: Classroom, export: Export, python: Path, tmp_path: Path
) -> None:
    classroom.add("ann", FULL | {"flash": 2.5})
    folder = tmp_path / "nbgrader course"
    folder.mkdir()
    command = ("--to", "nbgrader", "--out", folder / "gradebook.db", "--python", python)
    assert f"needs a folder source/{NAME}" in export(*command).stderr
    (folder / "source" / NAME).mkdir(parents=True)
    assert "source/" not in export(*command).stderr
    environment = {**os.environ, "HOME": str(tmp_path)}
    printed = subprocess.run([python, "-c", _LIST, folder], capture_output=True, text=True, env=environment, check=True)
    (found,) = json.loads(printed.stdout)
    assert (found["name"], found["max_score"], found["average_score"]) == (NAME, 10, 7.5)


def test_exporting_again_updates_and_leaves_alone_what_is_not_ours(
    class_of_three: Classroom, export: Export, python: Path, tmp_path: Path
) -> None:
    database = tmp_path / "gradebook.db"
    command = ("--to", "nbgrader", "--out", database, "--python", python)
    assert export(*command).returncode == 0
    subprocess.run([python, "-c", _TOUCH, database, NAME], check=True)
    class_of_three.no_overrides()
    class_of_three.add("cy", {"flash": 5.0})
    class_of_three.add("dee", FULL)
    (class_of_three.out / "results" / "bob.json").unlink()
    printed = export(*command)
    assert printed.returncode == 0, printed.stderr
    assert "ann: the manual score 0.5 of loads was removed" in printed.stderr
    found = read(python, database)
    scores = {one["student"]: one["score"] for one in found["submissions"]}
    assert scores == {"ann": 10.25, "bob": 5, "cy": 5, "dee": 10}  # with Ann's extra credit; Bob is left as he was
    assert found["comments"]["ann"]["flash"]["manual_comment"] == "Well done."
    assert set(found["assignments"]) == {NAME, "homework-1"}
    assert [one["score"] for one in read(python, database, "homework-1")["submissions"]] == [3]


def test_new_exercises_and_bonus_reach_a_gradebook_that_is_there(
    class_of_three: Classroom, export: Export, python: Path, tmp_path: Path
) -> None:
    database = tmp_path / "gradebook.db"
    command = ("--to", "nbgrader", "--out", database, "--python", python)
    whole = class_of_three.out
    toml = class_of_three.root / "course" / "course.toml"
    text = toml.read_text()
    first = text[: text.rindex("[[lesson]]")].replace("'softmax', 'loads'", "'softmax'")
    toml.write_text(first)
    class_of_three.out = tmp_path / "half"
    for student in ("ann", "bob", "gone"):
        class_of_three.add(student, {"softmax": 3.0}, names=("softmax",))
    assert export(*command).returncode == 0
    class_of_three.out = whole
    toml.write_text(text)
    printed = export(*command, "--with-bonus")
    assert printed.returncode == 0, printed.stderr
    rows = exported(python, tmp_path)
    assert float(rows.pop("gone")["score"]) == 3
    assert {student: float(row["score"]) for student, row in rows.items()} == pytest.approx(
        totals(class_of_three, True)
    )
    assert {row["max_score"] for row in rows.values()} == {"10.0"}
    # The other way round there would be cells whose scores nobody keeps up to date.
    class_of_three.out = tmp_path / "half"
    toml.write_text(first)
    before = database.read_bytes()
    printed = export(*command)
    assert printed.returncode == 2
    assert "cells that are not of this course: lesson7/loads, lesson8/extra, lesson8/flash" in printed.stderr
    assert database.read_bytes() == before


def test_one_lesson_goes_into_its_notebook_and_leaves_the_others(
    class_of_three: Classroom, export: Export, python: Path, tmp_path: Path
) -> None:
    database = tmp_path / "gradebook.db"
    command = ("--to", "nbgrader", "--out", database, "--python", python)
    assert export(*command).returncode == 0
    class_of_three.add("cy", FULL)
    printed = export(*command, "--lesson", "8")
    assert printed.returncode == 0, printed.stderr
    scores = {one["student"]: one["score"] for one in read(python, database)["submissions"]}
    assert scores == {"ann": 10, "bob": 5, "cy": 5}  # of lesson 8 alone
    new = tmp_path / "new.db"
    assert export("--to", "nbgrader", "--out", new, "--python", python, "--lesson", "8").returncode == 0
    assert {one["max_score"] for one in read(python, new)["submissions"]} == {5}


def test_without_nbgrader_one_sentence_says_what_to_do(
    class_of_three: Classroom, export: Export, bare_python: Path, tmp_path: Path
) -> None:
    database = tmp_path / "gradebook.db"
    printed = export("--to", "nbgrader", "--out", database, "--python", bare_python)
    assert printed.returncode == 2
    assert "pip install 'mini-flash-attention-kit[instructor]'" in printed.stderr
    assert "--python" in printed.stderr
    assert "Traceback" not in printed.stderr
    assert not database.exists()


def test_an_nbgrader_of_old_is_not_used(
    class_of_three: Classroom, export: Export, bare_python: Path, tmp_path: Path
) -> None:
    packages = next((tmp_path / "bare" / "lib").glob("python3*")) / "site-packages"
    (packages / "nbgrader-0.2.2.dist-info").mkdir()
    (packages / "nbgrader-0.2.2.dist-info" / "METADATA").write_text("Name: nbgrader\nVersion: 0.2.2\n")
    printed = export("--to", "nbgrader", "--out", tmp_path / "gradebook.db", "--python", bare_python)
    assert printed.returncode == 2
    assert "has nbgrader 0.2.2" in printed.stderr


def test_a_python_that_is_none_is_said(class_of_three: Classroom, export: Export, tmp_path: Path) -> None:
    printed = export("--to", "nbgrader", "--out", tmp_path / "gradebook.db", "--python", tmp_path / "nothing")
    assert printed.returncode == 2
    assert "There is no Python at" in printed.stderr
    printed = export("--to", "nbgrader", "--out", tmp_path / "gradebook.db", "--python", "true")
    assert printed.returncode == 3
    assert "could not write the gradebook" in printed.stderr
    assert not (tmp_path / "gradebook.db").exists()


def test_a_file_that_is_no_gradebook_stays_as_it_is(
    class_of_three: Classroom, export: Export, python: Path, tmp_path: Path
) -> None:
    database = tmp_path / "gradebook.db"
    database.write_text("my notes")
    printed = export("--to", "nbgrader", "--out", database, "--python", python)
    assert printed.returncode == 2
    assert "file is not a database" in printed.stderr
    assert "Traceback" not in printed.stderr
    assert database.read_text() == "my notes"
    printed = export("--to", "nbgrader", "--out", tmp_path / "none" / "gradebook.db", "--python", python)
    assert printed.returncode == 2
    assert "cannot be written" in printed.stderr


@pytest.mark.parametrize(
    ("title", "name"),
    [("Mini FlashAttention", "mini-flashattention"), ("  Kernels: Übung #2+ ", "kernels-ubung-2"), ("注意", "course")],
)
def test_an_assignments_name_is_a_folders(title: str, name: str) -> None:
    assert assignment_name(title) == name


@pytest.mark.parametrize(
    ("name", "parts"),
    [
        ("Doe, Jane", ("Jane", "Doe")),
        ("Doe, Jane, Jr.", ("Jane Jr.", "Doe")),
        ("Jane van der Doe", ("Jane van der", "Doe")),
        ("Plato", ("", "Plato")),
        ("", ("", "")),
    ],
)
def test_a_name_in_two_parts_holds_no_comma(name: str, parts: tuple[str, str]) -> None:
    assert first_and_last(name) == parts
