"""The plain table, and what holds for every CSV."""

from __future__ import annotations

from datetime import timedelta

from tests.bridges.classroom import DEADLINE, EXERCISES, FULL, SECRET, Classroom, canvas, exercise, table
from tests.bridges.conftest import Export


def test_one_line_a_student_and_one_column_an_exercise_in_the_courses_order(
    classroom: Classroom, export: Export
) -> None:
    late = canvas("bob", "Bob, Jr.", "12", DEADLINE + timedelta(hours=30))
    classroom.add("bob", {"softmax": 2.0, "loads": 2.0, "flash": 5.0, "extra": 0.5}, late)
    classroom.add("=ann", FULL | {"flash": exercise("flash", 1.5)})
    classroom.override("bob", "loads", 1.0)
    printed = export("--to", "csv")
    assert printed.returncode == 0, printed.stderr
    header, ann, bob = table(printed.stdout)
    cells = [dict(zip(header, row, strict=True)) for row in (ann, bob)]
    assert [name for name in header if name in EXERCISES] == list(EXERCISES)
    assert [(one["student"], one["name"]) for one in cells] == [("'=ann", "'=ann"), ("bob", "Bob, Jr.")]
    assert [one["score"] for one in cells] == ["6.5", "7.6"]
    assert [(one["points"], one["bonus"]) for one in cells] == [("10", "0"), ("10", "0.5")]
    # Two days begun cost 20% of lesson 7's softmax; the override of loads stays what it is; lesson 8 has no deadline.
    assert [cells[1][name] for name in EXERCISES] == ["1.6", "1", "5", "0.5"]
    assert cells[1]["overridden"] == "loads"
    assert "2d" in cells[1]["late"]
    assert cells[0]["late"] == ""
    assert [cells[0][f"{name}_outcome"] for name in EXERCISES] == ["pass", "pass", "partial", "not-started"]
    assert SECRET not in printed.stdout


def test_who_has_no_grade_has_empty_cells_and_is_named(classroom: Classroom, export: Export) -> None:
    classroom.add("ann", FULL | {"loads": exercise("loads", 0.0, "grader-error")})
    classroom.add("bob", FULL)
    (classroom.out / "results" / "cy.json").write_text("{")
    printed = export("--to", "csv")
    assert printed.returncode == 1
    header, ann, bob = table(printed.stdout)
    cells = dict(zip(header, ann, strict=True))
    assert (cells["softmax"], cells["loads"], cells["score"], cells["loads_outcome"]) == ("3", "", "", "grader-error")
    assert bob[0] == "bob"
    assert "Left out: ann: a fault of the grader ended loads" in printed.stderr
    assert "cy: the result is damaged" in printed.stderr


def test_a_damaged_result_alone_counts_as_left_out(classroom: Classroom, export: Export) -> None:
    classroom.add("bob", FULL)
    (classroom.out / "results" / "cy.json").write_text("{")
    assert export("--to", "csv").returncode == 1


def test_a_table_is_utf8_with_a_mark_only_for_excel_and_goes_where_out_says(
    classroom: Classroom, export: Export
) -> None:
    classroom.add("zoë", FULL)
    assert export("--to", "csv").stdout.startswith("student,")
    target = classroom.root / "grades.csv"
    printed = export("--to", "csv", "--excel", "--out", target)
    assert printed.returncode == 0
    assert printed.stdout == ""
    data = target.read_bytes()
    assert data.startswith(b"\xef\xbb\xbfstudent,")
    assert "zoë" in data.decode()
