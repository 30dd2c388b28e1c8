"""Canvas: whose each file is, which of them count, and what was late."""

from __future__ import annotations

from pathlib import Path

import pytest

from autograder.bulk.collect import collect

from .making import held, make_folder, make_zip, students, submissions


@pytest.mark.parametrize("make", [make_zip, make_folder])
def test_each_student_gets_a_folder_named_after_name_and_user_id(tmp_path: Path, make: type[make_zip]) -> None:
    files = {
        "doejane_1234_50001_flash_attention.py": "a",
        "doejane_1234_50002_one_shot_attention.py": "b",
        "nguyễnaïcha_LATE_1235_50003_hw_1_2_x.ipynb": "c",
    }
    collected = collect(make(tmp_path / "submissions.zip", files), tmp_path / "out")
    assert held(tmp_path / "out") == {
        "doejane_1234/flash_attention.py": "a",
        "doejane_1234/one_shot_attention.py": "b",
        "nguyễnaïcha_1235/hw_1_2_x.ipynb": "c",
    }
    assert collected.late == ("nguyễnaïcha_1235",)
    assert not collected.refused
    assert not collected.unknown
    jane = submissions(tmp_path / "out")["doejane_1234"]
    assert (jane.name, jane.lms, jane.lms_id) == ("doejane", "canvas", "1234")
    assert (jane.submitted, jane.late, jane.attempts) == (None, False, 1)
    assert submissions(tmp_path / "out")["nguyễnaïcha_1235"].late


def test_two_students_of_one_name_stay_two(tmp_path: Path) -> None:
    source = make_zip(tmp_path / "a.zip", {"doejane_1_10_x.py": "one", "doejane_2_11_x.py": "two"})
    collect(source, tmp_path / "out")
    assert held(tmp_path / "out") == {"doejane_1/x.py": "one", "doejane_2/x.py": "two"}


def test_anonymous_students_are_anon_and_their_id(tmp_path: Path) -> None:
    files = {"anon_aB3dE_10_x.py": "a", "LATE_anon_77777_11_x.py": "b", "anon_LATE_Zz9_12_x.py": "c"}
    collected = collect(make_zip(tmp_path / "a.zip", files), tmp_path / "out")
    assert held(tmp_path / "out") == {"anon_aB3dE/x.py": "a", "anon_77777/x.py": "b", "anon_Zz9/x.py": "c"}
    assert collected.late == ("anon_77777", "anon_Zz9")
    assert submissions(tmp_path / "out")["anon_aB3dE"].name == ""


def test_ids_that_differ_in_case_only_are_kept_apart(tmp_path: Path) -> None:
    source = make_zip(tmp_path / "a.zip", {"anon_aBcDe_10_x.py": "a", "anon_AbCdE_11_x.py": "b"})
    collect(source, tmp_path / "out")
    found = students(tmp_path / "out")
    assert len({student.casefold() for student in found}) == 2
    assert sorted(held(tmp_path / "out").values()) == ["a", "b"]


def test_a_file_handed_in_again_replaces_the_earlier_ones_which_are_kept(tmp_path: Path) -> None:
    files = {
        "doejane_1_9_x-1.py": "second",
        "doejane_1_10_x-2.py": "third",
        "doejane_1_8_x.py": "first",
        "doejane_1_7_notes.txt": "notes",
    }
    collect(make_zip(tmp_path / "a.zip", files), tmp_path / "out")
    assert held(tmp_path / "out") == {"doejane_1/x-2.py": "third", "doejane_1/notes.txt": "notes"}
    assert held(tmp_path / "out", kept=True) == {"doejane_1/1/x.py": "first", "doejane_1/2/x-1.py": "second"}
    assert submissions(tmp_path / "out")["doejane_1"].attempts == 3


def test_the_highest_attachment_id_counts_by_number_and_not_by_letters(tmp_path: Path) -> None:
    files = {
        "doejane_1_10000000000000002_x.py": "last",
        "doejane_1_10000000000000001_x.py": "b",
        "doejane_1_9_x.py": "a",
    }
    collect(make_zip(tmp_path / "a.zip", files), tmp_path / "out")
    assert held(tmp_path / "out") == {"doejane_1/x.py": "last"}
    assert held(tmp_path / "out", kept=True) == {"doejane_1/1/x.py": "a", "doejane_1/2/x.py": "b"}


def test_numbered_files_without_a_plain_one_are_two_files_of_the_hand_in(tmp_path: Path) -> None:
    source = make_zip(tmp_path / "a.zip", {"doejane_1_8_part-1.ipynb": "A", "doejane_1_9_part-2.ipynb": "B"})
    collect(source, tmp_path / "out")
    assert held(tmp_path / "out") == {"doejane_1/part-1.ipynb": "A", "doejane_1/part-2.ipynb": "B"}


def test_late_is_what_the_latest_attempt_is(tmp_path: Path) -> None:
    files = {"doejane_1_8_x.py": "a", "doejane_LATE_1_9_x-1.py": "b", "roe_LATE_2_8_x.py": "a", "roe_2_9_x-1.py": "b"}
    assert collect(make_zip(tmp_path / "a.zip", files), tmp_path / "out").late == ("doejane_1",)


def test_typed_text_is_kept_and_noted(tmp_path: Path) -> None:
    files = {"doejane_1_text.html": "<p>", "roe_LATE_2_link.html": "<a>", "poe_3_12_text.html": "a file"}
    collect(make_zip(tmp_path / "a.zip", files), tmp_path / "out")
    assert held(tmp_path / "out") == {
        "doejane_1/text.html": "<p>",
        "roe_2/link.html": "<a>",
        "poe_3/text.html": "a file",
    }
    found = submissions(tmp_path / "out")
    assert "not graded" in found["doejane_1"].notes[0]
    assert found["poe_3"].notes == ()


def test_entries_of_unknown_naming_are_listed_and_left_out(tmp_path: Path) -> None:
    files = {"doejane_1_8_x.py": "a", "roe_2_9_x.py": "b", "gradebook.csv": "c", "more/x.py": "d"}
    collected = collect(make_zip(tmp_path / "a.zip", files), tmp_path / "out")
    assert collected.unknown == ("gradebook.csv", "more")
    assert students(tmp_path / "out") == ["doejane_1", "roe_2"]


def test_a_zip_of_a_student_is_left_as_it_is(tmp_path: Path) -> None:
    inner = make_zip(tmp_path / "inner.zip", {"lesson7/x.py": "a"}).read_bytes()
    collect(make_zip(tmp_path / "a.zip", {"doejane_1_8_hw.zip": inner}), tmp_path / "out")
    assert (tmp_path / "out" / "doejane_1" / "hw.zip").read_bytes() == inner


def test_a_folder_that_wraps_the_download_is_looked_through(tmp_path: Path) -> None:
    files = {"submissions/doejane_1_8_x.py": "a", "__MACOSX/submissions/._doejane_1_8_x.py": "z", ".DS_Store": "z"}
    collected = collect(make_zip(tmp_path / "a.zip", files), tmp_path / "out")
    assert held(tmp_path / "out") == {"doejane_1/x.py": "a"}
    assert collected.unknown == ()


def test_the_names_of_the_latest_attempt_are_kept_for_feedback(tmp_path: Path) -> None:
    files = {"doejane_LATE_1_9_x-1.py": "b", "doejane_1_8_x.py": "a", "doejane_LATE_1_7_y.py": "c"}
    for name in ("a.zip", "b.zip"):
        collect(make_zip(tmp_path / name, {f"class/{file}": text for file, text in files.items()}), tmp_path / "out")
        original = submissions(tmp_path / "out")["doejane_1"].original
        assert original == ("doejane_LATE_1_7_y.py", "doejane_LATE_1_9_x-1.py")


def test_if_the_latest_attempt_can_not_be_used_an_earlier_one_is_and_that_is_said(tmp_path: Path) -> None:
    source = make_zip(tmp_path / "a.zip", {"doejane_1_8_x.py": "a", "doejane_1_9_x-1.py": "b" * 9, "roe_2_7_x.py": "c"})
    data = bytearray(source.read_bytes())
    data[data.rindex(b"PK\x01\x02", 0, data.rindex(b"PK\x01\x02")) + 8] |= 1  # encrypted, as it says of itself
    source.write_bytes(data)
    collected = collect(source, tmp_path / "out")
    assert [one.shown for one in collected.refused] == ["doejane_1_9_x-1.py"]
    assert held(tmp_path / "out") == {"doejane_1/x.py": "a", "roe_2/x.py": "c"}
    assert any("an earlier one is in the folder" in note for note in submissions(tmp_path / "out")["doejane_1"].notes)
