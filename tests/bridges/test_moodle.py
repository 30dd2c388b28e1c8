"""Moodle's offline grading worksheet."""

from __future__ import annotations

import pytest

from tests.bridges.classroom import FULL, Classroom, moodle, table
from tests.bridges.conftest import Export

COLUMNS = (
    "Identifier,Full name,Email address,Status,Grade,Maximum Grade,Grade can be changed,"
    "Last modified (submission),Last modified (grade),Feedback comments"
)
WORKSHEET = f'''{COLUMNS}
Participant 31,Zoë Ünal,zoe@uni.example,Submitted,,10.00,Yes,-,-,
Participant 30,"Doe, Ann",ann@uni.example,Submitted,1.50,10.00,Yes,-,"Monday, 30 November, 9:15 AM","-1 for ""style"""
Participant 32,=cmd(),eve@uni.example,Submitted,,10.00,Yes,-,-,
Participant 33,No HandIn,no@uni.example,No submission,2.00,10.00,Yes,-,-,
'''


@pytest.fixture
def three(classroom: Classroom) -> Classroom:
    classroom.add("Ann Doe_30", FULL, moodle("Ann Doe_30", "Ann Doe", "30"))
    classroom.add("Eve_32", {"loads": 2.0}, moodle("Eve_32", "=cmd()", "32"))
    classroom.add("Zoe_31", {"softmax": 1 / 3}, moodle("Zoe_31", "Zoë Ünal", "31"))
    return classroom


def test_a_worksheet_keeps_all_but_its_grades(three: Classroom, export: Export) -> None:
    printed = export("--to", "moodle", "--roster", three.roster(WORKSHEET))
    assert printed.returncode == 0, printed.stderr
    before, after = table(WORKSHEET), table(printed.stdout)
    grade = before[0].index("Grade")
    assert [row[grade] for row in after] == ["Grade", "0.333333", "10", "2", "2.00"]
    for old, new in zip(before, after, strict=True):
        assert [*new[:grade], *new[grade + 1 :]] == [cell.replace("=cmd()", "'=cmd()") for cell in _without(old, grade)]


def test_without_a_worksheet_one_is_made_from_the_download(three: Classroom, export: Export) -> None:
    printed = export("--to", "moodle")
    assert printed.returncode == 0, printed.stderr
    assert table(printed.stdout) == [
        ["Identifier", "Full name", "Email address", "Grade", "Last modified (grade)"],
        ["Participant 30", "Ann Doe", "", "10", "-"],
        ["Participant 32", "'=cmd()", "", "2", "-"],
        ["Participant 31", "Zoë Ünal", "", "0.333333", "-"],
    ]
    assert "tick 'Allow updating records" in printed.stderr
    assert "maximum grade there must be 10" in printed.stderr


def test_hidden_names_do_not_hide_participant_numbers(classroom: Classroom, export: Export) -> None:
    classroom.add("anon_44", FULL, moodle("anon_44", "", "44"))
    printed = export("--to", "moodle")
    assert printed.returncode == 0, printed.stderr
    assert table(printed.stdout)[1] == ["Participant 44", "anon_44", "", "10", "-"]


def test_a_roster_of_ones_own_gives_ids_and_addresses(classroom: Classroom, export: Export) -> None:
    classroom.add("ann", FULL)
    classroom.add("bob", FULL)
    roster = classroom.roster("student_id,name,email,lms_id\nann,Ann Doe,ann@uni.example,Participant 30\n")
    printed = export("--to", "moodle", "--roster", roster)
    assert printed.returncode == 1
    assert table(printed.stdout)[1:] == [["Participant 30", "Ann Doe", "ann@uni.example", "10", "-"]]
    assert "Left out: bob: no Moodle participant number is known" in printed.stderr


def test_a_maximum_that_differs_stops_the_export_or_is_scaled_to(three: Classroom, export: Export) -> None:
    roster = three.roster(WORKSHEET.replace("10.00", "100.00"))
    printed = export("--to", "moodle", "--roster", roster)
    assert printed.returncode == 2
    assert "maximum grade in Moodle is 100, and full marks are 10" in printed.stderr
    scaled = export("--to", "moodle", "--roster", roster, "--out-of", "100")
    assert scaled.returncode == 0, scaled.stderr
    assert [row[4] for row in table(scaled.stdout)[1:]] == ["3.33333", "100", "20", "2.00"]


def test_what_moodle_would_skip_is_said(three: Classroom, export: Export) -> None:
    three.override("Ann Doe_30", "flash", 6.0)
    roster = three.roster(WORKSHEET.replace("Submitted,,10.00,Yes", "Submitted,,10.00,No", 1))
    printed = export("--to", "moodle", "--roster", roster)
    assert printed.returncode == 1
    assert "Left out: Zoe_31: Moodle has locked this grade" in printed.stderr
    assert "Left out: Ann Doe_30: 11 is over Moodle's maximum of 10" in printed.stderr
    assert [row[4] for row in table(printed.stdout)[1:]] == ["", "1.50", "2", "2.00"]


def test_nobody_gets_the_row_of_another(three: Classroom, export: Export) -> None:
    three.add("ann@uni.example", FULL)  # fits the row of Ann Doe_30, too
    three.add("Zoë Ünal", FULL, moodle("Zoë Ünal", "Zoë Ünal", "77"))
    three.add("stranger", FULL)
    printed = export("--to", "moodle", "--roster", three.roster(WORKSHEET))
    assert printed.returncode == 1
    assert "ann@uni.example" in printed.stderr
    assert "all fit one row" in printed.stderr
    assert "Zoë Ünal: not in the worksheet" in printed.stderr  # a namesake: the numbers differ
    assert "stranger: not in the worksheet" in printed.stderr
    assert [row[4] for row in table(printed.stdout)[1:]] == ["0.333333", "1.50", "2", "2.00"]


def test_a_worksheet_that_moodle_would_not_take_back_is_refused(three: Classroom, export: Export) -> None:
    cut = "Identifier,Full name,Grade\nParticipant 30,Ann Doe,\n"
    printed = export("--to", "moodle", "--roster", three.roster(cut))
    assert printed.returncode == 2
    assert "no column Last modified (grade)" in printed.stderr
    scale = WORKSHEET.replace("Maximum Grade", "Scale")
    printed = export("--to", "moodle", "--roster", three.roster(scale))
    assert printed.returncode == 2
    assert "graded on a scale" in printed.stderr


def _without(row: list[str], index: int) -> list[str]:
    return [*row[:index], *row[index + 1 :]]
