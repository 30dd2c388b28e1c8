"""``course collect``: the exit code, the summary, and the roster."""

from __future__ import annotations

import os
from datetime import datetime
from pathlib import Path

import pytest
from click.testing import CliRunner

from autograder.bulk.collect import collect as collect_download
from autograder.cli._collect import collect
from autograder.errors import UsageError

from .making import make_folder, make_zip, students, submissions

ROSTER = """Student,ID,SIS Login ID,Submitted
"Doe, Jane",1,jane,2026-11-30T10:00:00+01:00
"Roe, Rob",2,rob,
"Poe, \x1b[31mPat",3,pat,
"""


def run(*arguments: str | Path) -> tuple[int, str]:
    """The exit code, and the summary with all white space as one blank."""
    done = CliRunner().invoke(collect, [str(argument) for argument in arguments], standalone_mode=False)
    if done.exception is not None:
        raise done.exception
    assert isinstance(done.return_value, int)
    return done.return_value, " ".join(done.stdout.split())


def test_all_taken_is_0_and_counted(tmp_path: Path) -> None:
    files = {"doejane_1_10_x.py": "a", "doejane_1_11_x-1.py": "b", "roe_LATE_2_12_x.py": "c", "grades.csv": ""}
    code, text = run(make_zip(tmp_path / "a.zip", files), "--out", tmp_path / "out", "--plain")
    assert code == 0
    assert "A Canvas download with 2 students" in text
    assert "2 new; 3 attempts, 1 late." in text
    assert "1 late: roe_2" in text
    assert "1 not understood, and left out: grades.csv" in text


def test_a_refused_file_is_1_and_said_with_its_reason(tmp_path: Path) -> None:
    source = make_folder(tmp_path / "class", {"ann/x.py": "a"})
    (source / "bob.py").symlink_to("/etc/passwd")
    code, text = run(source, "--out", tmp_path / "out", "--plain")
    assert code == 1
    assert "1 file refused: bob: bob.py is a link, and links are not followed" in text
    assert "and has an empty folder: bob" in text
    assert students(tmp_path / "out") == ["ann", "bob"]


def test_an_unreadable_source_is_2(tmp_path: Path) -> None:
    with pytest.raises(UsageError) as caught:
        run(tmp_path / "none.zip", "--out", tmp_path / "out")
    assert caught.value.exit_code == 2


def test_a_roster_gives_names_and_times_and_says_who_is_missing(tmp_path: Path) -> None:
    (tmp_path / "roster.csv").write_text(ROSTER)
    files = {"doejane_1_10_x.py": "a", "roerob_2_11_x.py": "b", "someone_9_12_x.py": "c"}
    source = make_zip(tmp_path / "a.zip", files)
    _, text = run(source, "--out", tmp_path / "out", "--roster", tmp_path / "roster.csv", "--plain")
    assert "1 in the roster, and handed in nothing: Poe, \\x1b[31mPat" in text
    assert "1 not in the roster: someone_9" in text
    found = submissions(tmp_path / "out")
    assert found["doejane_1"].name == "Doe, Jane"
    assert found["doejane_1"].submitted == datetime.fromisoformat("2026-11-30T10:00:00+01:00")
    assert found["roerob_2"].submitted is None
    assert found["someone_9"].notes == ("Not found in the roster.",)
    run(source, "--out", tmp_path / "out")
    again = submissions(tmp_path / "out")
    assert again["doejane_1"] == found["doejane_1"]


def test_a_time_in_the_roster_is_its_own_students_and_no_namesakes(tmp_path: Path) -> None:
    time = "2026-12-09T10:00:00+01:00"
    source = make_zip(tmp_path / "a.zip", {"doejane_1_10_x.py": "a", "doejane_2_11_x.py": "b"})
    for number, row in enumerate(
        (f"student_id,name,submitted\ndoejane_2,doejane,{time}\n", f"name,submitted\ndoejane,{time}\n")
    ):
        roster = tmp_path / "roster.csv"
        roster.write_text(row)
        run(source, "--out", tmp_path / f"out{number}", "--roster", roster, "--plain")
        found = submissions(tmp_path / f"out{number}")
        assert found["doejane_1"].submitted is None
        assert (found["doejane_2"].submitted is not None) == (number == 0)


def test_a_roster_with_a_universitys_student_ids_is_read_by_its_other_columns(tmp_path: Path) -> None:
    source = make_zip(tmp_path / "a.zip", {"doejane_1_10_x.py": "a", "roerob_2_11_x.py": "b"})
    roster = tmp_path / "roster.csv"
    roster.write_text('Student ID,Name,lms_id\n90017,"Doe, Jane",1\n90018,"Roe, Rob",2\n')
    _, text = run(source, "--out", tmp_path / "out", "--roster", roster, "--plain")
    assert "not in the roster" not in text
    assert "column Student ID holds the id of no hand-in" in " ".join(text.split())
    assert submissions(tmp_path / "out")["doejane_1"].name == "Doe, Jane"


def test_a_roster_that_cannot_be_read_stops_before_anything_is_written(tmp_path: Path) -> None:
    source = make_zip(tmp_path / "a.zip", {"ann_1_10_x.py": "a"})
    with pytest.raises(UsageError, match="roster"):
        collect_download(source, tmp_path / "out", tmp_path / "none.csv")
    assert not (tmp_path / "out").exists()


def test_nothing_in_the_summary_moves_the_cursor_or_is_taken_for_markup(tmp_path: Path) -> None:
    source = make_folder(tmp_path / "class", {"ann/x.py": "a", "no\x1b[2J\n[bold]note.txt": "", "[red]b[/red].py": "b"})
    os.mkfifo(source / "ann" / "p\x1b]0;title\x07\u202e.py")
    done = CliRunner().invoke(collect, [str(source), "--out", str(tmp_path / "o\x1b[31mut")], standalone_mode=False)
    assert done.exception is None
    assert all(line.isprintable() for line in done.stdout.split("\n"))
    assert "[bold]note.txt" in done.stdout


def test_long_lists_are_cut_and_counted(tmp_path: Path) -> None:
    files = {f"s{n}_{n}_1{n}_x.py": "a" for n in range(300)} | {f"note {n}.txt": "" for n in range(250)}
    _, text = run(make_zip(tmp_path / "a.zip", files), "--out", tmp_path / "out", "--plain")
    assert "250 not understood, and left out:" in text
    assert "and 50 more" in text


def test_colour_only_on_a_terminal_and_never_with_no_color(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    source = make_zip(tmp_path / "a.zip", {"ann_1_10_x.py": "a"})
    monkeypatch.setenv("FORCE_COLOR", "1")
    monkeypatch.setenv("NO_COLOR", "1")
    done = CliRunner().invoke(collect, [str(source), "--out", str(tmp_path / "out")], standalone_mode=False, color=True)
    assert "\x1b[3" not in done.stdout


def test_the_next_command_names_the_roster_and_can_be_typed(tmp_path: Path) -> None:
    roster, out = tmp_path / "the roster.csv", tmp_path / "my out"
    roster.write_text(ROSTER)
    source = make_zip(tmp_path / "a.zip", {"doejane_1_10_x.py": "a"})
    command = [str(source), "--out", str(out), "--roster", str(roster), "--plain"]
    said = CliRunner().invoke(collect, command, standalone_mode=False).stdout.splitlines()
    assert said[-1] == f"Next: course grade '{out}' --out results --roster '{roster}'"  # in one line, however long
    assert "--roster" not in run(source, "--out", out, "--plain")[1]


def test_another_lms_is_mixed_in_only_if_that_is_meant(tmp_path: Path) -> None:
    canvas = make_zip(tmp_path / "a.zip", {"doejane_1_10_x.py": "a"})
    moodle = make_zip(tmp_path / "b.zip", {"Jane Doe_5_assignsubmission_file_/x.py": "a"})
    out = tmp_path / "out"
    run(canvas, "--out", out)
    with pytest.raises(UsageError, match="holds hand-ins from Canvas, and these are from Moodle") as caught:
        run(moodle, "--out", out)
    assert caught.value.exit_code == 2
    assert students(out) == ["doejane_1"]
    assert set(submissions(out)) == {"doejane_1"}
    assert run(moodle, "--out", out, "--mixed")[0] == 0
    assert students(out) == ["Jane Doe_5", "doejane_1"]


WORKSHEET = """Identifier,Full name,Status,Grade,Last modified (submission),Last modified (grade)
Participant 1,Larry Late,Submitted for grading - 1 day late,,"Tuesday, 1 December 2026, 11:59 PM",-
Participant 2,Ann Lateran,Submitted for grading,,"Monday, 30 November 2026, 11:59 PM",-
"""


def test_where_nobody_can_tell_who_was_late_no_number_is_given(tmp_path: Path) -> None:
    names = ("Larry Late_1", "Ann Lateran_2")
    source = make_zip(tmp_path / "a.zip", {f"{name}_assignsubmission_file_/x.py": "a = 1" for name in names})
    _, text = run(source, "--out", tmp_path / "out", "--plain")
    assert "2 new; 2 attempts; when they were handed in is not known." in text
    (tmp_path / "w.csv").write_text(WORKSHEET)
    _, text = run(source, "--out", tmp_path / "out", "--roster", tmp_path / "w.csv", "--plain")
    assert " late." not in text
    said = (
        "1 late by the roster's column Status, which is shown and counts nowhere; times in a column `submitted` would:"
    )
    assert f"{said} Larry Late_1: Submitted for grading - 1 day late " in text
    (tmp_path / "r.csv").write_text("lms_id,submitted\n1,2026-12-01T10:00+01:00\n2,\n")
    _, text = run(source, "--out", tmp_path / "out", "--roster", tmp_path / "r.csv", "--plain")
    assert "2 attempts; when 1 of them was handed in is not known." in text


def test_what_cannot_be_graded_is_named_as_far_as_it_shows_from_outside(tmp_path: Path) -> None:
    whole = make_zip(tmp_path / "whole.zip", {"x.py": "a = 1\n" * 100}).read_bytes()
    files = {
        "ann_1_10_essay.pdf": b"%PDF",
        "bob_2_11_x.zip": b"",
        "cem_3_12_x.zip": whole[: len(whole) // 2],
        "dan_4_13_x.zip": whole,
        "eve_5_14_x.py": b"a = 1",
        "eve_5_15_old.zip": b"nothing",
        "fay_6_16_text.html": b"typed",
        "gus_7_17_x.py": b"",
    }
    code, text = run(make_zip(tmp_path / "a.zip", files), "--out", tmp_path / "out", "--plain")
    assert code == 0
    assert (
        "6 with files that cannot be graded, as far as can be seen from outside: "
        "ann_1: no .py, .ipynb or .zip, only essay.pdf "
        "bob_2: x.zip is empty "
        "cem_3: x.zip is no zip, or is cut off "
        "eve_5: old.zip is no zip, or is cut off "
        "fay_6: no .py, .ipynb or .zip, only text.html "
        "gus_7: x.py is empty "
    ) in text
    _, again = run(tmp_path / "a.zip", "--out", tmp_path / "out", "--plain")
    assert "6 with files that cannot be graded" in again


def test_entries_that_become_one_students_are_said(tmp_path: Path) -> None:
    source = make_folder(tmp_path / "class", {"ann/x.py": "a = 1", "bob.py": "a = 1", "bob.ipynb": "{}"})
    (source / "ann.zip").write_bytes(make_zip(tmp_path / "w.zip", {"x.py": "a = 1"}).read_bytes())
    _, text = run(source, "--out", tmp_path / "out", "--plain")
    joined = "Note: Taken together, since their names are one: ann (ann/ and ann.zip), bob (bob.ipynb and bob.py)."
    assert joined in text
    _, text = run(make_folder(tmp_path / "fine", {"ann/x.py": "a = 1"}), "--out", tmp_path / "out2", "--plain")
    assert "Taken together" not in text
