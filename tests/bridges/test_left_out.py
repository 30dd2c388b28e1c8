"""Who is left out of an export, and what is said of it: nobody gets another's grade, and nobody half of one."""

from __future__ import annotations

import json
import sys

import pytest

from autograder.bulk.due import Due
from autograder.bulk.store import Store
from autograder.bulk.submissions import Submission
from autograder.cli._export import _write
from tests.bridges.classroom import FULL, Classroom, canvas, table
from tests.bridges.conftest import Export

GRADEBOOK = """Student,ID,SIS User ID,SIS Login ID,Section
"Good, Alice",1001,77,alice,S1
"Bad, Mallory",3003,55,mal,S1
"""


def test_a_submissions_number_is_nobodys_id(classroom: Classroom, export: Export) -> None:
    classroom.add("Mallory Bad_55", {}, Submission("Mallory Bad_55", "Mallory Bad", "gradescope", "1001"))
    printed = export("--to", "canvas", "--roster", classroom.roster(GRADEBOOK))
    assert printed.returncode == 0, printed.stderr
    assert [row[:2] for row in table(printed.stdout)[2:]] == [["Bad, Mallory", "3003"]]


@pytest.mark.parametrize(
    "submission",
    [
        None,
        canvas("mallory_1001", "mallory", "1001"),
        Submission("mallory_1001", "Good, Mal", "gradescope", "1001"),
    ],
)
def test_whose_name_speaks_against_the_id_gets_nobodys_row(
    classroom: Classroom, export: Export, submission: Submission | None
) -> None:
    classroom.add("mallory_1001", {}, submission)
    printed = export("--to", "canvas", "--roster", classroom.roster(GRADEBOOK))
    assert printed.returncode == 1
    assert len(table(printed.stdout)) == 2
    assert "mallory_1001: not found in the roster" in printed.stderr
    assert "Left out: mallory_1001: " in printed.stderr


def test_who_is_in_doubt_is_left_out_of_a_worksheet_with_the_reason(classroom: Classroom, export: Export) -> None:
    classroom.add("Eve Poe_30", FULL, Submission("Eve Poe_30", "Eve Poe", "moodle", "30"))
    roster = classroom.roster("Identifier,Full name,Grade,Last modified (grade)\nParticipant 30,Ann Doe,,-\n")
    printed = export("--to", "moodle", "--roster", roster)
    assert printed.returncode == 1
    assert table(printed.stdout)[1] == ["Participant 30", "Ann Doe", "", "-"]
    assert "Left out: Eve Poe_30: its Moodle participant number 30 is that of Ann Doe" in printed.stderr


@pytest.mark.parametrize("target", ["canvas", "moodle", "csv", "gradescope", "nbgrader"])
def test_of_whom_something_was_never_graded_is_left_out(classroom: Classroom, export: Export, target: str) -> None:
    submission = Submission("ann", "Ann", "moodle" if target == "moodle" else "canvas", "11")
    classroom.add("ann", FULL, submission, names=("softmax",))
    out = () if target in ("canvas", "moodle", "csv") else ("--out", classroom.root / "made")
    printed = export("--to", target, *out)
    if target != "nbgrader":  # which may not be there
        assert printed.returncode == 1, printed.stderr
        assert "Left out: ann: never graded in loads, flash. Grade that too (`course grade`)" in printed.stderr
        assert "did not run where they were graded" not in printed.stderr
    if target == "csv":
        [header, row] = table(printed.stdout)
        assert dict(zip(header, row, strict=True))["score"] == ""
    elif target in ("canvas", "moodle"):
        assert "Ann" not in printed.stdout
    elif target == "gradescope":
        assert not list((classroom.root).glob("made/*/results.json"))


def test_an_optional_exercise_has_to_be_graded_only_for_bonus(classroom: Classroom, export: Export) -> None:
    classroom.add("ann", FULL, canvas("ann", "Ann", "11"), names=("softmax", "loads", "flash"))
    assert export("--to", "canvas").returncode == 0
    printed = export("--to", "canvas", "--with-bonus")
    assert printed.returncode == 1
    assert "ann: never graded in extra." in printed.stderr


def test_scores_by_hand_complete_what_was_never_graded(classroom: Classroom, export: Export) -> None:
    classroom.add("ann", FULL, canvas("ann", "Ann", "11"), names=("softmax",))
    classroom.override("ann", "loads", 1.0)
    classroom.override("ann", "flash", 4.0)
    printed = export("--to", "canvas")
    assert printed.returncode == 0, printed.stderr
    assert [row[5] for row in table(printed.stdout)[1:]] == ["10", "8"]
    document = json.loads(export("--to", "gradescope", "--student", "ann").stdout)
    assert [(test["score"], test["max_score"]) for test in document["tests"]] == [(3, 3), (1, 2), (4, 5)]
    assert "set by hand" in document["tests"][1]["output"]


def test_lines_of_overrides_that_count_nowhere_are_named(classroom: Classroom, export: Export) -> None:
    classroom.add("ann", FULL)
    classroom.override("ann", "sofmax", 1.0)
    classroom.override("eve", "softmax", 1.0)
    printed = export("--to", "csv")
    assert printed.returncode == 0
    assert "a score of ann for sofmax, which is no exercise" in printed.stderr
    assert "scores of eve, who has no result" in printed.stderr


@pytest.mark.parametrize("target", ["canvas", "csv"])
def test_no_name_moves_the_cursor_or_forges_a_line(classroom: Classroom, export: Export, target: str) -> None:
    classroom.add("ann", FULL, canvas("ann", "Ann", "11"))
    classroom.override("z\x1b[41med", "softmax", 1.0)
    names = '"Z\x1b[41med\x1b]0;pwn\x07"\n"x\nLeft out: ann"\n'
    printed = export("--to", target, "--roster", classroom.roster(f"name\n{names}"))
    assert all(line.isprintable() for line in printed.stderr.split("\n"))
    assert "Z\ufffd[41med" in printed.stderr
    assert not any(
        line.startswith("Left out: ann") for line in printed.stderr.split("\n") if "no Canvas id" not in line
    )


def test_on_a_terminal_the_table_itself_moves_no_cursor(
    monkeypatch: pytest.MonkeyPatch, capsysbinary: pytest.CaptureFixture[bytes]
) -> None:
    _write(b"student,name\nzed,Z\x1b[41med\n", None)
    assert capsysbinary.readouterr().out == b"student,name\nzed,Z\x1b[41med\n"
    monkeypatch.setattr(sys.stdout, "isatty", lambda: True)
    _write(b"student,name\nzed,Z\x1b[41med\n", None)
    assert capsysbinary.readouterr().out.decode() == "student,name\nzed,Z\ufffd[41med\n"


def test_what_canvas_calls_a_column_is_shown_without_escapes(classroom: Classroom, export: Export) -> None:
    classroom.add("ann", FULL, canvas("ann", "Ann", "11"))
    head = "Student,ID,SIS User ID,SIS Login ID,Section,Mini\x1b[31m (1)"
    roster = classroom.roster(f"{head}\nPoints Possible,,,,,(read only)\nAnn,11,,,,\n")
    printed = export("--to", "canvas", "--roster", roster, "--column", "Mini\x1b[31m")
    assert printed.returncode == 2
    assert "'Mini\ufffd[31m (1)' be imported" in printed.stderr
    assert all(line.isprintable() for line in printed.stderr.split("\n"))


@pytest.mark.parametrize("target", ["canvas", "csv"])
def test_whose_hand_in_waits_for_grading_is_named_and_the_exit_code_is_1(
    classroom: Classroom, export: Export, target: str
) -> None:
    classroom.add("ann_1001", FULL, canvas("ann_1001", "Ann", "1001"))
    Store(classroom.out).keep_due(Due({name: {} for name in ["ann_1001", "bob_1002"]}))
    printed = export("--to", target)
    assert printed.returncode == 1
    assert "1 hand-in is not graded yet: bob_1002. Run `course grade` again." in printed.stderr
