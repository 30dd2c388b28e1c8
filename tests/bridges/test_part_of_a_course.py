"""Grades of a lesson, or of some exercises, as if the course had no others."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.bridges.classroom import FULL, Classroom, canvas, table
from tests.bridges.conftest import Export


@pytest.fixture
def lesson7(classroom: Classroom) -> Classroom:
    """Two students of whom lesson 7 alone was graded."""
    classroom.add("ann", FULL, canvas("ann", "Ann", "11"), names=("softmax", "loads"))
    classroom.add("bob", {"softmax": 1.5}, canvas("bob", "Bob", "12"), names=("softmax", "loads"))
    return classroom


def test_a_class_that_was_graded_in_one_lesson_is_told_of_the_option(lesson7: Classroom, export: Export) -> None:
    printed = export("--to", "canvas")
    assert printed.returncode == 1
    assert printed.stderr.count("never graded") == 1
    assert "Left out: everyone: never graded in flash." in printed.stderr
    assert "alone, with --lesson or --exercise" in printed.stderr
    assert "Nobody has all grades that this needs, so nothing was written." in printed.stderr
    assert printed.stdout == ""
    made = export("--to", "moodle", "--out", lesson7.root / "made.csv")
    assert "must be 0" not in made.stderr
    assert not (lesson7.root / "made.csv").exists()


@pytest.mark.parametrize(
    ("options", "title", "points", "marks"),
    [
        (("--lesson", "7"), "Mini Flash, 2nd: lesson 7", "5", ["5", "1.5"]),
        (("--lesson", "7", "--lesson", "7"), "Mini Flash, 2nd: lesson 7", "5", ["5", "1.5"]),
        (("--exercise", "loads"), "Mini Flash, 2nd: loads", "2", ["2", "0"]),
        (("--exercise", "softmax", "--column", "Quiz"), "Quiz", "3", ["3", "1.5"]),
    ],
)
def test_canvas_gets_a_column_of_that_part(
    lesson7: Classroom, export: Export, options: tuple[str, ...], title: str, points: str, marks: list[str]
) -> None:
    printed = export("--to", "canvas", *options)
    assert printed.returncode == 0, printed.stderr
    rows = table(printed.stdout)
    assert [row[5] for row in rows] == [title, points, *marks]


def test_several_lessons_are_handed_on_together(classroom: Classroom, export: Export) -> None:
    classroom.add("ann", FULL, canvas("ann", "Ann", "11"))
    rows = table(export("--to", "canvas", "--lesson", "8", "--lesson", "7").stdout)
    assert [row[5] for row in rows] == ["Mini Flash, 2nd: lessons 7, 8", "10", "10"]


def test_lateness_of_other_lessons_and_their_bonus_do_not_count(classroom: Classroom, export: Export) -> None:
    classroom.add("ann", FULL | {"extra": 1.0}, canvas("ann", "Ann", "11"))
    printed = export("--to", "canvas", "--lesson", "7", "--with-bonus", "--out-of", "100")
    assert [row[5] for row in table(printed.stdout)[1:]] == ["100", "100"]
    printed = export("--to", "canvas", "--lesson", "8", "--with-bonus")
    assert [row[5] for row in table(printed.stdout)[1:]] == ["5", "6"]


def test_tables_and_documents_hold_that_part_alone(lesson7: Classroom, export: Export) -> None:
    [header, ann, bob] = table(export("--to", "csv", "--lesson", "7").stdout)
    assert header[2:6] == ["softmax", "loads", "score", "points"]
    assert (ann[4:6], bob[4:6]) == (["5", "5"], ["1.5", "5"])
    document = json.loads(export("--to", "gradescope", "--lesson", "7", "--student", "bob").stdout)
    assert document["score"] == 1.5
    assert [test["max_score"] for test in document["tests"]] == [3, 2]


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (("--lesson", "9"), "This course has no lesson 9. Its lessons are: 7, 8."),
        (("--lesson", "7", "--exercise", "flash"), "flash is in no lesson 7. Leave out --lesson, or name another."),
        (("--exercise", "flsh"), "There is no exercise called 'flsh'. Did you mean flash?"),
    ],
)
def test_a_part_that_is_not_there_is_said(
    lesson7: Classroom, export: Export, options: tuple[str, ...], words: str
) -> None:
    printed = export("--to", "canvas", *options)
    assert (printed.returncode, printed.stdout) == (2, "")
    assert words in printed.stderr


def test_an_exercise_alone_is_not_for_nbgrader(lesson7: Classroom, export: Export, tmp_path: Path) -> None:
    printed = export("--to", "nbgrader", "--out", tmp_path / "gradebook.db", "--exercise", "loads")
    assert printed.returncode == 2
    assert "--exercise means something only with --to" in printed.stderr
