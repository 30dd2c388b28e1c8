"""Rosters and overrides as spreadsheets and people save them: understood, or refused in a sentence."""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path

import pytest

from autograder.bulk.overrides import load_overrides
from autograder.bulk.roster import load_roster
from autograder.errors import UsageError


@pytest.mark.parametrize(
    "data",
    [
        b"student_id,name\rada,Ada\rbob,Bob\r",
        b"student_id,name\r\nada,Ada\r\nbob,Bob\r\n",
        b"\r\n\r\nstudent_id,name\r\nada,Ada\r\n\r\nbob,Bob",
        b"sep=;\r\nstudent_id;name\r\nada;Ada\r\nbob;Bob\r\n",
        b'\xef\xbb\xbf"sep=;"\nstudent_id;name\nada;Ada\nbob;Bob\n',
        b"SEP=,\nstudent_id,name\nada,Ada\nbob,Bob,,\n",
        b"student_id\tname\nada\tAda\nbob\tBob\n",
    ],
)
def test_line_ends_and_separators_of_all_kinds_are_understood(tmp_path: Path, data: bytes) -> None:
    path = tmp_path / "r.csv"
    path.write_bytes(data)
    assert [(one.student, one.name) for one in load_roster(path).students] == [("ada", "Ada"), ("bob", "Bob")]


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("student_id,name,extension\nada,Ada,1,5\n", r'line 2: there are 4 cells, and only 3 columns.*"1,5"'),
        ('sep=;\nstudent_id;x\nada;"a\nb"\nbob;1;2\n', "line 5: there are 3 cells"),
        (f"student_id,notes\nada,{'x' * 140_000}\n", "line 2, is no CSV: field larger than field limit"),
        ("student_id,extension\nada,99999999999\n", "line 2: an extension of '99999999999' days is too long"),
        ("student_id,extension\nada,3000000\n", "too long"),
        (f"student_id,extension\nada,{'9' * 400}\n", "too long"),
        ("student_id,extension\nada,-2\n", "is no time with a zone"),
    ],
)
def test_a_roster_that_would_be_misread_is_refused_in_a_sentence(tmp_path: Path, text: str, words: str) -> None:
    path = tmp_path / "r.csv"
    path.write_text(text)
    with pytest.raises(UsageError, match=words):
        load_roster(path)


def test_a_comma_in_a_number_of_days_is_a_decimal_one(tmp_path: Path) -> None:
    path = tmp_path / "r.csv"
    path.write_text('student_id,extension\nada,"1,5"\n')
    assert load_roster(path).students[0].extension == timedelta(days=1.5)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("student,exercise,score\nada,a,1\n", "has no column reason"),
        ("student,exercise,score,reason\nada,a,1,so, so\n", "line 2: there are 5 cells"),
        ("student,exercise,score,reason\nada,a,1e400,so\n", "line 2: '1e400' is no number of points"),
        ("student,exercise,score,reason\nada,a,1e300,so\n", "line 2: '1e300' is no number of points"),
        (f"student,exercise,score,reason\nada,a,1,{'x' * 140_000}\n", "line 2, is no CSV"),
    ],
)
def test_overrides_that_would_be_misread_are_refused_in_a_sentence(tmp_path: Path, text: str, words: str) -> None:
    path = tmp_path / "overrides.csv"
    path.write_text(text)
    with pytest.raises(UsageError, match=words):
        load_overrides(path)


def test_overrides_saved_by_a_spreadsheet_are_understood(tmp_path: Path) -> None:
    path = tmp_path / "overrides.csv"
    path.write_bytes(b"\xef\xbb\xbfsep=;\rstudent;exercise;score;reason\rada; a ;1.5;So.\r")
    assert load_overrides(path)["ada"]["a"].score == 1.5
