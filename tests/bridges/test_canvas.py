"""The CSV that Canvas's gradebook imports."""

from __future__ import annotations

import pytest

from tests.bridges.classroom import FULL, Classroom, canvas, exercise, moodle, table
from tests.bridges.conftest import Export

HEADER = ["Student", "ID", "SIS User ID", "SIS Login ID", "Section"]

# As Canvas writes it: a row of policies, one of points with blanks before the words, and the test student.
GRADEBOOK = '''Student,ID,SIS User ID,SIS Login ID,Section,Quiz (900),"Mini Flash, 2nd (901)",Current Score
,,,,,,Manual Posting,(read only)
    Points Possible,,,,,5.00,10.00,(read only)
"Åström, Ann",11,S-11,ann@uni.example,"Group ""A""",1,2.00,20
"O'Neil, Bob",12,S-12,bob@uni.example,B,,,
"Li, Cy",13,S-13,cy@uni.example,B,,EX,
"Student, Test",99,,abcdef,B,,,
'''


def test_ids_come_from_the_download_without_a_roster(classroom: Classroom, export: Export) -> None:
    classroom.add("astromann_11", FULL, canvas("astromann_11", "Åström, Ann", "11"))
    classroom.add("oneilbob_12", {"softmax": 1.25}, canvas("oneilbob_12", 'O\'Neil "Bo" Bob', "12"))
    printed = export("--to", "canvas")
    assert printed.returncode == 0, printed.stderr
    assert table(printed.stdout) == [
        [*HEADER, "Mini Flash, 2nd"],
        ["Points Possible", "", "", "", "", "10"],
        ["Åström, Ann", "11", "", "", "", "10"],
        ['O\'Neil "Bo" Bob', "12", "", "", "", "1.25"],
    ]
    assert "new assignment" in printed.stderr


def test_the_column_of_canvas_own_export_is_used_again(classroom: Classroom, export: Export) -> None:
    classroom.add("astromann_11", FULL, canvas("astromann_11", "Ann Astrom", "11"))
    classroom.add("oneilbob_12", {"loads": 2.0}, canvas("oneilbob_12", "Bob", "12"))
    classroom.add("licy_13", FULL, canvas("licy_13", "Cy", "13"))
    printed = export("--to", "canvas", "--roster", classroom.roster(GRADEBOOK))
    assert printed.returncode == 0, printed.stderr
    assert table(printed.stdout) == [
        [*HEADER, "Mini Flash, 2nd (901)"],
        ["Points Possible", "", "", "", "", "10.00"],
        ["Åström, Ann", "11", "S-11", "ann@uni.example", 'Group "A"', "10"],
        ["Li, Cy", "13", "S-13", "cy@uni.example", "B", "EX"],
        ["O'Neil, Bob", "12", "S-12", "bob@uni.example", "B", "2"],
    ]
    assert "licy_13: excused in Canvas" in printed.stderr
    assert "new assignment" not in printed.stderr


@pytest.mark.parametrize("name", ["Quiz", "Quiz (900)"])
def test_column_names_another_assignment_and_out_of_scales(classroom: Classroom, export: Export, name: str) -> None:
    classroom.add("ann", {"softmax": 3.0}, canvas("ann", "Ann", "11"))
    classroom.add("bob", FULL, canvas("bob", "Bob", "12"))
    roster = classroom.roster(GRADEBOOK)
    printed = export("--to", "canvas", "--roster", roster, "--column", name, "--out-of", "5")
    assert printed.returncode == 0, printed.stderr
    rows = table(printed.stdout)
    assert [row[5] for row in rows] == ["Quiz (900)", "5.00", "1.5", "5"]


def test_points_that_differ_from_canvas_stop_the_export(classroom: Classroom, export: Export) -> None:
    classroom.add("ann", FULL, canvas("ann", "Ann", "11"))
    roster = classroom.roster(GRADEBOOK)
    for arguments, words in (
        (("--column", "Quiz"), "worth 5 points in Canvas, and full marks are 10"),
        (("--out-of", "20"), "worth 10 points in Canvas, and --out-of says 20"),
        (("--column", "Current Score"), "does not let 'Current Score' be imported"),
    ):
        printed = export("--to", "canvas", "--roster", roster, *arguments)
        assert printed.returncode == 2, arguments
        assert words in printed.stderr
        assert printed.stdout == ""


def test_two_assignments_of_one_title_have_to_be_told_apart(classroom: Classroom, export: Export) -> None:
    classroom.add("ann", FULL, canvas("ann", "Ann", "11"))
    roster = classroom.roster(GRADEBOOK.replace("Quiz (900)", '"Mini Flash, 2nd (900)"'))
    printed = export("--to", "canvas", "--roster", roster)
    assert printed.returncode == 2
    assert "'Mini Flash, 2nd (900)', 'Mini Flash, 2nd (901)'" in printed.stderr


@pytest.mark.parametrize("name", ['=HYPERLINK("x")', "+1", "-2+3", "@SUM(A1)", "\tTab"])
def test_a_name_like_a_formula_is_harmless_and_keeps_its_id(classroom: Classroom, export: Export, name: str) -> None:
    classroom.add("eve", FULL, canvas("eve", name, "66"))
    printed = export("--to", "canvas")
    assert printed.returncode == 0, printed.stderr
    assert table(printed.stdout)[2] == [f"'{name}", "66", "", "", "", "10"]


def test_nobody_gets_an_id_by_guessing(classroom: Classroom, export: Export) -> None:
    classroom.add("ann", FULL, canvas("ann", "Ann", "11"))
    classroom.add("anon_7", FULL, canvas("anon_7", "", "7"))  # an anonymous id is no user id
    classroom.add("dup1", FULL, canvas("dup1", "Dup", "50"))
    classroom.add("dup2", FULL, canvas("dup2", "Dup", "50"))
    classroom.add("folder", FULL)
    classroom.add("moodler", FULL, moodle("moodler", "M", "13"))
    classroom.add("twin", FULL, canvas("twin", "Pat Twin", "71"))
    roster = classroom.roster("student_id,name,lms_id,login\ntwin,Pat Twin,70,pt\n,Text Id,x-1,folder\n")
    printed = export("--to", "canvas", "--roster", roster)
    assert printed.returncode == 1
    assert [row[1] for row in table(printed.stdout)[2:]] == ["11"]
    for words in (
        "Left out: anon_7: no Canvas id is known",
        "Left out: folder: no Canvas id",
        "Left out: moodler: no Canvas id",
        "Left out: twin: the roster says Canvas id 70 and the download 71",
        "dup1 and dup2: all have the Canvas id 50",
    ):
        assert words in printed.stderr


def test_a_moodle_worksheet_gives_no_canvas_ids(classroom: Classroom, export: Export) -> None:
    classroom.add("Ann Doe_5", FULL)
    roster = classroom.roster("Identifier,Full name,Grade,Last modified (grade)\nParticipant 5,Ann Doe,,-\n")
    printed = export("--to", "canvas", "--roster", roster)
    assert printed.returncode == 1
    assert len(table(printed.stdout)) == 2


def test_a_fault_of_the_grader_is_nobodys_zero_unless_a_person_decides(classroom: Classroom, export: Export) -> None:
    broken = FULL | {"flash": exercise("flash", 0.0, "grader-error")}
    classroom.add("ann", broken, canvas("ann", "Ann", "11"))
    classroom.add("empty", {}, canvas("empty", "E", "12"), error="No readable file.", names=())
    printed = export("--to", "canvas")
    assert printed.returncode == 1
    assert "ann: a fault of the grader ended flash" in printed.stderr
    assert "empty: nothing was graded. No readable file." in printed.stderr
    assert printed.stdout == ""
    classroom.override("ann", "flash", 4.0)
    assert [row[1::4] for row in table(export("--to", "canvas").stdout)[2:]] == [["11", "9"]]


def test_bonus_is_added_only_when_asked_for(classroom: Classroom, export: Export) -> None:
    classroom.add("ann", FULL | {"extra": 0.5}, canvas("ann", "Ann", "11"))
    plain = export("--to", "canvas")
    assert table(plain.stdout)[2][5] == "10"
    assert "--with-bonus adds them" in plain.stderr
    more = export("--to", "canvas", "--with-bonus")
    assert table(more.stdout)[1:] == [["Points Possible", *[""] * 4, "10"], ["Ann", "11", "", "", "", "10.5"]]
    assert "--with-bonus" not in more.stderr


def test_the_roster_that_grading_kept_is_used(classroom: Classroom, export: Export) -> None:
    classroom.add("ann", FULL, canvas("ann", "Ann", "11"))
    (classroom.out / "roster.csv").write_text(GRADEBOOK, encoding="utf-8")
    printed = export("--to", "canvas")
    assert printed.returncode == 0
    assert table(printed.stdout)[0][5] == "Mini Flash, 2nd (901)"
    assert "without a hand-in: O'Neil, Bob; Li, Cy" in printed.stderr
