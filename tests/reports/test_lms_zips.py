"""The zips of feedback: each page under the name by which Canvas and Moodle find its student."""

from __future__ import annotations

import io
import re
import zipfile
from pathlib import Path

import pytest

from autograder.bulk.grades import StudentGrade
from autograder.bulk.lms_zips import canvas_name, moodle_name, write_zips
from autograder.bulk.submissions import Submission, load, save
from autograder.errors import UsageError
from tests.reports.made import student


def handed_in(lms: str, number: str | None = "101", *original: str, name: str = "Jane Doe") -> StudentGrade:
    return student(student=f"s{number}", submission=Submission(f"s{number}", name, lms, number, original=original))


def pages(folder: Path, *students: StudentGrade) -> list[StudentGrade]:
    for item in students:
        (folder / f"{item.student}.html").write_text(f"<!DOCTYPE html>{item.student}", encoding="utf-8")
    return list(students)


def canvas_reads(name: str) -> tuple[str, str]:
    """The ids that Canvas finds in a file's name: the first two parts that are numbers, or those after ``anon``."""
    parts = [part for part in name.split("_") if part != "LATE"]
    if parts[0] == "anon":
        return parts[1], parts[2]
    first, second = [part for part in parts if re.fullmatch(r"\d+", part)][:2]
    return first, second


def moodle_reads(path: str) -> tuple[str, str, str]:
    """Participant, plugin and file's name as Moodle takes them out of a path."""
    folder, _, name = path.partition("/")
    parts = folder.split("_", 4)
    assert len(parts) >= 4
    assert name
    return parts[1], "_".join(parts[2:4]), name


@pytest.mark.parametrize(
    ("original", "name", "ids"),
    [
        (("doejane_101_9001_work.zip",), "doejane_101_9001_work.zip", ("101", "9001")),
        (("doejane_LATE_101_9001_work-1.zip",), "doejane_LATE_101_9001_work-1.zip", ("101", "9001")),
        (("anon_a1B2c_9001_work.zip",), "anon_a1B2c_9001_work.zip", ("a1B2c", "9001")),
        (("doejane_101_9001_a_2_b.py",), "doejane_101_9001_a_2_b.py.html", ("101", "9001")),
        (("doe_101_9001_a.py", "doe_101_9002_b.zip"), "doe_101_9002_b.zip", ("101", "9002")),
        (("download/doe_101_9001_a.ipynb",), "doe_101_9001_a.ipynb.html", ("101", "9001")),
    ],
)
def test_canvas_finds_the_student_and_the_attachment(
    original: tuple[str, ...], name: str, ids: tuple[str, str]
) -> None:
    found = canvas_name(handed_in("canvas", "101", *original))
    assert found == name
    assert canvas_reads(found) == ids


@pytest.mark.parametrize("original", [(), ("work.zip",), ("doe_101_link.html",)])
def test_without_an_attachments_id_there_is_no_name(original: tuple[str, ...]) -> None:
    assert canvas_name(handed_in("canvas", "101", *original)) is None


def test_a_long_name_is_cut_behind_the_ids() -> None:
    found = canvas_name(handed_in("canvas", "101", f"doe_101_9001_{'é' * 119}.py"))
    assert found is not None
    assert len(found.encode()) <= 255
    assert found.endswith("é.html")
    assert canvas_reads(found) == ("101", "9001")


@pytest.mark.parametrize("name", ["Jane Doe", "João_da_Silva", "../..", "a/b\\c", "", "x" * 300, "Ann 7"])
def test_moodle_finds_the_participant_whatever_the_name(name: str) -> None:
    for number in ("104", "Participant 104"):
        path = moodle_name(handed_in("moodle", number, name=name))
        assert path is not None
        assert moodle_reads(path) == ("104", "assignsubmission_file", "feedback.html")
        assert path.count("/") == 1
        assert ".." not in path


def test_each_platform_gets_its_own_students_and_no_others(tmp_path: Path) -> None:
    everyone = pages(
        tmp_path,
        handed_in("canvas", "1", "a_1_11_work.zip"),
        handed_in("canvas", "2", "b_2_22_flash.py"),
        handed_in("moodle", "3"),
        handed_in("folder", "4"),
        student(student="s5"),
    )
    made = write_zips(tmp_path, everyone)
    assert made.written == {tmp_path / "canvas.zip": 2, tmp_path / "moodle.zip": 1}
    assert made.notes == ()
    with zipfile.ZipFile(tmp_path / "canvas.zip") as archive:
        assert archive.namelist() == ["a_1_11_work.zip", "b_2_22_flash.py.html"]
        assert archive.read("b_2_22_flash.py.html") == b"<!DOCTYPE html>s2"
        # The student downloads it as the zip that it answers: it has to be one.
        with zipfile.ZipFile(io.BytesIO(archive.read("a_1_11_work.zip"))) as inner:
            assert inner.namelist() == ["feedback.html"]
            assert inner.read("feedback.html") == b"<!DOCTYPE html>s1"
    with zipfile.ZipFile(tmp_path / "moodle.zip") as archive:
        assert archive.namelist() == ["Jane Doe_3_assignsubmission_file_/feedback.html"]
        assert archive.read(archive.namelist()[0]) == b"<!DOCTYPE html>s3"


def test_the_same_pages_give_the_same_bytes(tmp_path: Path) -> None:
    everyone = pages(tmp_path, handed_in("moodle", "3"), handed_in("moodle", "2"))
    write_zips(tmp_path, everyone)
    first = (tmp_path / "moodle.zip").read_bytes()
    write_zips(tmp_path, everyone[::-1])
    assert (tmp_path / "moodle.zip").read_bytes() == first


def test_who_is_in_no_zip_is_said_and_an_old_zip_goes(tmp_path: Path) -> None:
    (tmp_path / "canvas.zip").write_bytes(b"of another class")
    made = write_zips(tmp_path, pages(tmp_path, handed_in("canvas", "7")))
    assert made.written == {}
    assert list(tmp_path.glob("*.zip")) == []
    assert "Not in the zip for Canvas, since what it called their hand-in is not known: s7." in made.notes[0]
    assert made.notes[1] == "No zip for Moodle: no hand-in was collected from a Moodle download."


def test_two_students_of_one_name_are_not_mixed_up(tmp_path: Path) -> None:
    twice = pages(tmp_path, handed_in("canvas", "1", "a_1_11_x.zip"), handed_in("canvas", "2", "a_1_11_x.zip"))
    with pytest.raises(UsageError, match=r"Two students have a_1_11_x\.zip"):
        write_zips(tmp_path, twice)
    assert not (tmp_path / "canvas.zip").exists()


def test_original_names_are_kept_and_older_files_still_read(tmp_path: Path) -> None:
    path = tmp_path / "collected.json"
    save(path, {"s": Submission("s", original=("a_1_2_x.zip",))})
    assert load(path)["s"].original == ("a_1_2_x.zip",)
    path.write_text(path.read_text().replace('"original"', '"something_else"'))
    assert load(path)["s"].original == ()
