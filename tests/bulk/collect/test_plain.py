"""Plain folders: one folder or file a student, and what SOURCE may not be."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from autograder.bulk.collect import collect
from autograder.errors import UsageError

from .making import held, make_folder, make_zip, students, submissions


@pytest.mark.parametrize("make", [make_zip, make_folder])
def test_the_name_of_a_folder_or_file_is_the_id(tmp_path: Path, make: type[make_zip]) -> None:
    files = {
        "ann/lesson7/x.py": "a",
        "bob.py": "b",
        "cem.ipynb": "c",
        "dan.tar.gz": "d",
        "eve/y.py": "e",
        "eve.py": "f",
        "grades.xlsx": "g",
    }
    collected = collect(make(tmp_path / "class", files), tmp_path / "out")
    assert held(tmp_path / "out") == {
        "ann/lesson7/x.py": "a",
        "bob/bob.py": "b",
        "cem/cem.ipynb": "c",
        "dan/dan.tar.gz": "d",
        "eve/eve.py": "f",
        "eve/y.py": "e",
    }
    assert collected.unknown == ("grades.xlsx",)
    ann = submissions(tmp_path / "out")["ann"]
    assert (ann.lms, ann.lms_id, ann.submitted) == ("folder", None, None)


def test_an_empty_folder_is_a_student_with_an_empty_folder(tmp_path: Path) -> None:
    source = make_folder(tmp_path / "class", {"ann/x.py": "a"})
    (source / "bob").mkdir()
    assert collect(source, tmp_path / "out").in_state("empty") == ("bob",)
    assert students(tmp_path / "out") == ["ann", "bob"]


@pytest.mark.parametrize("end", [".zip", "/x.py"])
def test_a_folder_that_wraps_a_class_is_looked_through_and_said(tmp_path: Path, end: str) -> None:
    collected = collect(
        make_zip(tmp_path / "a.zip", {f"class/ann{end}": "a", f"class/bob{end}": "b"}), tmp_path / "out"
    )
    assert students(tmp_path / "out") == ["ann", "bob"]
    assert collected.notes == ("The students were looked for in class/.",)


@pytest.mark.parametrize("files", [("x.py", "y.py"), ("lesson7/x.py", "lesson8/x.py"), ("lesson7.zip", "lesson8.zip")])
def test_one_student_with_several_files_is_one_student(tmp_path: Path, files: tuple[str, ...]) -> None:
    collect(make_zip(tmp_path / "a.zip", {f"ann/{name}": "a" for name in files}), tmp_path / "out")
    assert students(tmp_path / "out") == ["ann"]


def test_names_are_made_safe_and_stay_apart(tmp_path: Path) -> None:
    names = [
        "-rf",
        "rf",
        "..hidden",
        "ann ",
        "ann",
        "a" * 200 + "1",
        "a" * 200 + "2",
        "e\u0301ve",
        "ab:c",
        "CON",
        "ANN",
    ]
    source = make_zip(tmp_path / "a.zip", {f"{name}/x.py": name for name in names if not name.startswith(".")})
    collect(source, tmp_path / "out")
    found = students(tmp_path / "out")
    assert len(found) == len(names) - 1
    assert len({name.casefold() for name in found}) == len(found)
    assert "éve" in found
    for name in found:
        assert name[0] not in ".-~ "
        assert name[-1] not in ". "
        assert len(name.encode()) <= 140
        assert not set(name) & set('<>:"/\\|?*')
        assert name.lower() != "con"


def test_names_that_are_no_text_on_disk_are_made_text(tmp_path: Path) -> None:
    source = make_folder(tmp_path / "class", {"bob/x.py": "b"})
    raw = os.path.join(os.fsencode(source), b"ann\xff\x1b[31m")
    os.mkdir(raw)
    with open(os.path.join(raw, b"x.py"), "w") as stream:
        stream.write("a")
    for _ in range(2):
        collected = collect(source, tmp_path / "out")
        assert held(tmp_path / "out") == {"ann_[31m/x.py": "a", "bob/x.py": "b"}
    assert len(collected.in_state("unchanged")) == 2


def test_a_source_that_cannot_be_read_or_holds_nothing_is_a_sentence(tmp_path: Path) -> None:
    (tmp_path / "none.zip").write_bytes(b"Rar!")
    (tmp_path / "empty").mkdir()
    make_zip(tmp_path / "empty.zip", {})
    make_folder(tmp_path / "unknown", {"grades.csv": "", "notes.txt": ""})
    cut = make_zip(tmp_path / "cut.zip", {"ann/x.py": "a" * 1000, "bob/x.py": "b"}).read_bytes()
    (tmp_path / "cut.zip").write_bytes(cut[:-30])
    os.mkfifo(tmp_path / "pipe")
    for name in ("none.zip", "empty", "empty.zip", "unknown", "cut.zip", "pipe", "missing", "bad\0name"):
        with pytest.raises(UsageError) as caught:
            collect(tmp_path / name, tmp_path / "out")
        assert str(caught.value).count(". ") <= 1
        assert not (tmp_path / "out").exists()


@pytest.mark.parametrize("wrapper", ["", "class/"])
@pytest.mark.parametrize("make", [make_zip, make_folder])
def test_a_student_whose_name_begins_with_a_dot_is_not_passed_over_in_silence(
    tmp_path: Path, make: type[make_zip], wrapper: str
) -> None:
    names = ("ann/x.py", "bob/x.py", ".carl/x.py", ".dora.py", ".git/config", "._ann", "ann/.x.py", ".DS_Store")
    collected = collect(make(tmp_path / "given", {wrapper + name: "a" for name in names}), tmp_path / "out")
    assert sorted(held(tmp_path / "out")) == ["ann/x.py", "bob/x.py"]
    told = "Left out, since names that begin with a dot are passed over: .carl, .dora.py. Rename what is a hand-in."
    assert told in collected.notes
