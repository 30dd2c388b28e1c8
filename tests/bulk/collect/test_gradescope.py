"""Gradescope: whose each folder is and when it came is read from the metadata, by a reader of the needed keys only."""

from __future__ import annotations

import io
from datetime import datetime
from pathlib import Path

import pytest

from autograder.bulk.collect import collect
from autograder.bulk.collect._metadata import read_metadata, read_time

from .making import held, make_zip, students, submissions

METADATA = """---
submission_101:
  :submitters:
  - :name: Jane Doë
    :sid: '3031'
    :email: jane@example.org
  :created_at: 2026-11-30 21:38:36.402869123 Z
  :score: 10.0
  :status: processed
  :results:
    tests:
    - name: 'first'
      output: |-
        submission_999:
          :submitters:
          - :name: Nobody
      :created_at: 1999-01-01 00:00:00 Z
  :history:
  - :id: 100
    :created_at: 2026-11-01 10:00:00.000000000 Z
    :score: 1.0
"submission_102":
  :submitters:
    - :name: "Zo\\xEB \\"Z\\" \\u674E"
      :sid:
      :email: zoe@example.org
    - :name: 'O''Brien'
      :sid: "0042"
      :email: ~
  :created_at: '2026-11-30T14:22:32.365935-07:00'
submission_103:
  :submitters:
  - :name: Ann
    :sid: '7'
  :created_at: !ruby/object:ActiveSupport::TimeWithZone
    utc: 2026-12-01 08:00:00.000000000 Z
    zone: &1 !ruby/object:ActiveSupport::TimeZone
      name: Etc/UTC
"""


def test_students_are_named_by_name_and_sid_with_the_time_of_handing_in(tmp_path: Path) -> None:
    files = {
        "assignment_5_export/submission_metadata.yml": METADATA,
        "assignment_5_export/submission_101/lesson7/x.py": "a",
        "assignment_5_export/submission_102/x.py": "b",
        "assignment_5_export/submission_103/x.py": "c",
    }
    collected = collect(make_zip(tmp_path / "a.zip", files), tmp_path / "out")
    assert held(tmp_path / "out") == {
        "Jane Doë_3031/lesson7/x.py": "a",
        "Zoë _Z_ 李_zoe@example.org/x.py": "b",
        "O'Brien_0042/x.py": "b",
        "Ann_7/x.py": "c",
    }
    found = submissions(tmp_path / "out")
    assert found["Jane Doë_3031"].submitted == datetime.fromisoformat("2026-11-30T21:38:36.402869+00:00")
    assert found["O'Brien_0042"].submitted == datetime.fromisoformat("2026-11-30T14:22:32.365935-07:00")
    assert found["Ann_7"].submitted == datetime.fromisoformat("2026-12-01T08:00:00+00:00")
    assert (found["Jane Doë_3031"].lms, found["Jane Doë_3031"].lms_id) == ("gradescope", "101")
    assert found["O'Brien_0042"].notes == ("Handed in by a group of 2.",)
    assert collected.unknown == ()
    assert collected.notes == ()


def test_someone_without_a_folder_gets_an_empty_one(tmp_path: Path) -> None:
    files = {"submission_metadata.yml": METADATA, "submission_101/x.py": "a"}
    collected = collect(make_zip(tmp_path / "a.zip", files), tmp_path / "out")
    assert collected.in_state("empty") == ("Ann_7", "O'Brien_0042", "Zoë _Z_ 李_zoe@example.org")
    assert submissions(tmp_path / "out")["Ann_7"].notes == ("The download holds no folder submission_103.",)


def test_without_metadata_students_are_named_after_their_submissions(tmp_path: Path) -> None:
    source = make_zip(tmp_path / "a.zip", {"submission_101/x.py": "a", "submission_102/x.py": "b", "other/x.py": "c"})
    collected = collect(source, tmp_path / "out")
    assert held(tmp_path / "out") == {"submission_101/x.py": "a", "submission_102/x.py": "b"}
    assert collected.unknown == ("other",)
    assert "no submission_metadata.yml" in collected.notes[0]


def test_who_hands_in_again_stays_one_student(tmp_path: Path) -> None:
    def export(number: int, text: str, time: str) -> Path:
        metadata = f"submission_{number}:\n  :submitters:\n  - :name: Ann\n    :sid: '7'\n  :created_at: {time}\n"
        return make_zip(
            tmp_path / f"{number}.zip", {"submission_metadata.yml": metadata, f"submission_{number}/x.py": text}
        )

    first = export(5, "first", "2026-11-01 10:00:00 Z")
    last = export(4, "last", "2026-11-02 10:00:00 Z")  # the time counts, not the number
    collect(last, tmp_path / "out")
    assert collect(first, tmp_path / "out").in_state("older") == ("Ann_7",)
    assert held(tmp_path / "out") == {"Ann_7/x.py": "last"}
    assert held(tmp_path / "out", kept=True) == {"Ann_7/1/x.py": "first"}
    assert submissions(tmp_path / "out")["Ann_7"].lms_id == "4"


def test_a_name_in_the_metadata_leads_nowhere(tmp_path: Path) -> None:
    name = '"../../\\e[31mevil\\0/\\u202E"'
    metadata = f"submission_1:\n  :submitters:\n  - :name: {name}\n    :sid: '../9'\n"
    source = make_zip(tmp_path / "a.zip", {"submission_metadata.yml": metadata, "submission_1/x.py": "a"})
    collect(source, tmp_path / "out")
    assert students(tmp_path / "out") == ["_..__[31mevil____9"]
    (record,) = submissions(tmp_path / "out").values()
    assert record.name.isprintable()
    assert sorted(path.name for path in tmp_path.iterdir()) == ["a.zip", "out"]


@pytest.mark.parametrize(
    "text",
    [
        "2026-11-30 21:38:36",  # nobody knows where
        "2026-13-30 21:38:36 Z",
        "2026-11-30 25:38:36 Z",
        "yesterday",
        "",
    ],
)
def test_a_time_without_a_zone_is_no_time(text: str) -> None:
    assert read_time(text) is None


def test_metadata_that_is_no_yaml_gives_nothing_and_no_error() -> None:
    for junk in (b"", b"\xff\xfe\x00", b"- a\n- b\n", b":" * 100_000, b"{" * 1000, b"a: &x [*x]\n  b:\n\t- c: d\n"):
        for submitted in read_metadata(io.BytesIO(junk)).values():
            assert submitted.submitters == []
            assert submitted.created_at is None


def test_a_line_of_megabytes_hides_nothing_after_it() -> None:
    long = b"  :results: " + b"x" * 300_000 + b" submission_9:\n"
    text = b"submission_1:\n" + long + b"  :submitters:\n  - :name: Ann\n"
    found = read_metadata(io.BytesIO(text))
    assert [(name, one.submitters[0].name) for name, one in found.items()] == [("submission_1", "Ann")]
