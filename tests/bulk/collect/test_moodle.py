"""Moodle: folders before and after 4.1, flat files, and what students typed."""

from __future__ import annotations

from pathlib import Path

import pytest

from autograder.bulk.collect import collect

from .making import held, make_folder, make_zip, students, submissions


@pytest.mark.parametrize("end", ["_/", "/", "_"])
@pytest.mark.parametrize("make", [make_zip, make_folder])
def test_folders_of_all_versions_and_flat_files_are_understood(tmp_path: Path, make: type[make_zip], end: str) -> None:
    files = {
        f"Jane Doë_123_assignsubmission_file{end}x.py": "a",
        f"O'Brien, Zoë_124_assignsubmission_file{end}y.py": "b",
    }
    collected = collect(make(tmp_path / "moodle.zip", files), tmp_path / "out")
    assert held(tmp_path / "out") == {"Jane Doë_123/x.py": "a", "O'Brien, Zoë_124/y.py": "b"}
    jane = submissions(tmp_path / "out")["Jane Doë_123"]
    assert (jane.name, jane.lms, jane.lms_id, jane.submitted) == ("Jane Doë", "moodle", "123", None)
    assert [name.startswith("Jane Doë_123_assignsubmission_file") for name in jane.original] == [True]
    assert not collected.unknown


def test_folders_within_a_hand_in_are_kept(tmp_path: Path) -> None:
    files = {"Jane Doe_1_assignsubmission_file_/lesson7/x.py": "a", "Jane Doe_1_assignsubmission_file_/y.py": "b"}
    collect(make_zip(tmp_path / "a.zip", files), tmp_path / "out")
    assert held(tmp_path / "out") == {"Jane Doe_1/lesson7/x.py": "a", "Jane Doe_1/y.py": "b"}


def test_two_students_of_one_name_stay_two(tmp_path: Path) -> None:
    files = {"Jane Doe_1_assignsubmission_file_/x.py": "a", "Jane Doe_2_assignsubmission_file_/x.py": "b"}
    collect(make_zip(tmp_path / "a.zip", files), tmp_path / "out")
    assert held(tmp_path / "out") == {"Jane Doe_1/x.py": "a", "Jane Doe_2/x.py": "b"}


def test_typed_text_is_kept_apart_from_files_and_noted(tmp_path: Path) -> None:
    files = {
        "Jane Doe_1_assignsubmission_onlinetext_/onlinetext.html": "typed",
        "Jane Doe_1_assignsubmission_file_/onlinetext.html": "a file",
        "Bob_2_assignsubmission_onlinetext_onlinetext.html": "typed flat",
    }
    collect(make_zip(tmp_path / "a.zip", files), tmp_path / "out")
    assert held(tmp_path / "out") == {
        "Jane Doe_1/assignsubmission_onlinetext/onlinetext.html": "typed",
        "Jane Doe_1/onlinetext.html": "a file",
        "Bob_2/assignsubmission_onlinetext/onlinetext.html": "typed flat",
    }
    assert all("Typed into Moodle" in one.notes[0] for one in submissions(tmp_path / "out").values())


def test_hidden_identities_are_anon_and_the_participant(tmp_path: Path) -> None:
    source = make_zip(tmp_path / "a.zip", {"Participant_77_assignsubmission_file_/x.py": "a"})
    collect(source, tmp_path / "out")
    assert held(tmp_path / "out") == {"anon_77/x.py": "a"}
    assert submissions(tmp_path / "out")["anon_77"].name == ""


def test_an_empty_folder_is_a_student_with_an_empty_folder(tmp_path: Path) -> None:
    files = {"Jane Doe_1_assignsubmission_file_/": "", "Bob_2_assignsubmission_file_/x.py": "a"}
    collected = collect(make_zip(tmp_path / "a.zip", files), tmp_path / "out")
    assert students(tmp_path / "out") == ["Bob_2", "Jane Doe_1"]
    assert collected.in_state("empty") == ("Jane Doe_1",)
