"""Collecting again into the same folder updates it, loses nothing, and touches nothing that is not its own."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from autograder.bulk.collect import collect
from autograder.errors import UsageError

from .making import held, make_folder, make_zip, students, submissions

ROOT = Path(__file__).parents[3]


def test_the_same_download_again_changes_nothing(tmp_path: Path) -> None:
    source = make_zip(tmp_path / "a.zip", {"ann_1_10_x.py": "a", "bob_LATE_2_11_x.py": "b", "bob_2_9_y.txt": "c"})
    collect(source, tmp_path / "out")
    before = (held(tmp_path / "out"), submissions(tmp_path / "out"), (tmp_path / "out" / "ann_1").stat().st_ino)
    collected = collect(source, tmp_path / "out")
    assert collected.in_state("unchanged") == ("ann_1", "bob_2")
    after = (held(tmp_path / "out"), submissions(tmp_path / "out"), (tmp_path / "out" / "ann_1").stat().st_ino)
    assert after == before
    assert held(tmp_path / "out", kept=True) == {}


def test_a_newer_download_replaces_and_keeps_the_earlier_attempt(tmp_path: Path) -> None:
    out = tmp_path / "out"
    collect(make_zip(tmp_path / "a.zip", {"ann_1_10_x.py": "1", "bob_2_11_x.py": "b"}), out)
    collected = collect(make_zip(tmp_path / "b.zip", {"ann_LATE_1_20_x-1.py": "2", "cem_3_12_x.py": "c"}), out)
    assert collected.in_state("updated") == ("ann_1",)
    assert collected.in_state("new") == ("cem_3",)
    assert collected.total == 3
    assert held(out) == {"ann_1/x-1.py": "2", "bob_2/x.py": "b", "cem_3/x.py": "c"}
    assert held(out, kept=True) == {"ann_1/1/x.py": "1"}
    found = submissions(out)
    assert (found["ann_1"].attempts, found["ann_1"].late) == (2, True)
    assert set(found) == {"ann_1", "bob_2", "cem_3"}


def test_an_older_download_does_not_replace_a_newer_attempt(tmp_path: Path) -> None:
    out = tmp_path / "out"
    old = make_zip(tmp_path / "a.zip", {"ann_1_10_x.py": "old"})
    collect(make_zip(tmp_path / "b.zip", {"ann_LATE_1_20_x.py": "new"}), out)
    for _ in range(2):
        assert collect(old, out).in_state("older") == ("ann_1",)
        assert held(out) == {"ann_1/x.py": "new"}
        assert held(out, kept=True) == {"ann_1/1/x.py": "old"}
        assert (submissions(out)["ann_1"].late, submissions(out)["ann_1"].attempts) == (True, 2)


def test_attempts_are_numbered_in_their_order_over_several_downloads(tmp_path: Path) -> None:
    out = tmp_path / "out"
    collect(make_zip(tmp_path / "a.zip", {"ann_1_20_x-1.py": "2"}), out)
    every = {f"ann_1_{n}0_x{f'-{n - 1}' if n > 1 else ''}.py": str(n) for n in (1, 2, 3, 4)}
    collect(make_zip(tmp_path / "b.zip", every), out)
    assert held(out) == {"ann_1/x-3.py": "4"}
    assert held(out, kept=True) == {"ann_1/1/x.py": "1", "ann_1/2/x-1.py": "2", "ann_1/3/x-2.py": "3"}


def test_moodle_s_latest_download_counts(tmp_path: Path) -> None:
    out = tmp_path / "out"
    for number, text in enumerate(["A", "B", "A"]):
        collect(make_zip(tmp_path / f"{number}.zip", {"Ann_1_assignsubmission_file_/x.py": text}), out)
    assert held(out) == {"Ann_1/x.py": "A"}
    assert held(out, kept=True) == {"Ann_1/1/x.py": "A", "Ann_1/2/x.py": "B"}


def test_what_the_instructor_changed_in_a_folder_is_kept(tmp_path: Path) -> None:
    out = tmp_path / "out"
    collect(make_zip(tmp_path / "a.zip", {"ann_1_10_x.py": "1"}), out)
    (out / "ann_1" / "remark.txt").write_text("mine")
    collect(make_zip(tmp_path / "b.zip", {"ann_1_20_x.py": "2"}), out)
    assert held(out, kept=True) == {"ann_1/1/remark.txt": "mine", "ann_1/1/x.py": "1"}


def test_an_unusable_attempt_does_not_replace_one_that_can_be_graded(tmp_path: Path) -> None:
    out = tmp_path / "out"
    collect(make_zip(tmp_path / "a.zip", {"ann_1_10_x.py": "1"}), out)
    newer = make_zip(tmp_path / "b.zip", {"ann_1_20_x.py": "2" * 100})
    data = bytearray(newer.read_bytes())
    data[data.index(b"PK\x01\x02") + 8] |= 1  # encrypted
    newer.write_bytes(data)
    collected = collect(newer, out)
    assert len(collected.refused) == 1
    assert held(out) == {"ann_1/x.py": "1"}
    assert any("an earlier one is in the folder" in note for note in submissions(out)["ann_1"].notes)


def test_an_empty_folder_is_filled_by_a_later_download(tmp_path: Path) -> None:
    out = tmp_path / "out"
    collect(
        make_zip(tmp_path / "a.zip", {"Ann_1_assignsubmission_file_/": "", "Bob_2_assignsubmission_file_/x.py": "b"}),
        out,
    )
    collected = collect(make_zip(tmp_path / "b.zip", {"Ann_1_assignsubmission_file_/x.py": "a"}), out)
    assert collected.in_state("new") == ("Ann_1",)
    assert held(out) == {"Ann_1/x.py": "a", "Bob_2/x.py": "b"}
    assert held(out, kept=True) == {}


def test_a_folder_that_holds_foreign_things_is_refused_and_left_alone(tmp_path: Path) -> None:
    source = make_zip(tmp_path / "a.zip", {"ann_1_10_x.py": "a"})
    course = make_folder(tmp_path / "course root", {"course/course.toml": "", "ann_1/x.py": "mine"})
    own = tmp_path / "out"
    collect(source, own)
    (own / "notes.txt").write_text("mine")
    linked = tmp_path / "linked"
    collect(source, linked)
    (linked / "ann_1").rename(tmp_path / "elsewhere")
    (linked / "ann_1").symlink_to(tmp_path / "elsewhere")
    (tmp_path / "a file").write_text("")
    for out, named in (
        (course, "ann_1, course"),
        (own, "notes.txt"),
        (linked, "ann_1"),
        (tmp_path / "a file", "cannot be written"),
    ):
        files = {path: path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()}
        with pytest.raises(UsageError, match=named):
            collect(source, out)
        assert {path: path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()} == files


def test_links_put_in_place_of_the_kept_attempts_are_not_written_through(tmp_path: Path) -> None:
    first, second = (make_zip(tmp_path / f"{n}.zip", {f"ann_1_{n}_x.py": str(n)}) for n in (1, 2))
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    for link in (".attempts/ann_1", ".attempts", ".collected.json"):
        out = tmp_path / link.replace("/", "_").strip(".")
        collect(first, out)
        place = out / link
        if place.exists():
            place.rename(tmp_path / f"moved {place.name}")
        place.symlink_to(elsewhere)
        with pytest.raises(UsageError):
            collect(second, out)
        assert list(elsewhere.iterdir()) == []


def test_a_target_within_the_source_is_refused(tmp_path: Path) -> None:
    source = make_folder(tmp_path / "class", {"ann/x.py": "a"})
    for out in (source, source / "out", source / "ann"):
        with pytest.raises(UsageError, match="lies in the folder"):
            collect(source, out)
    assert students(source) == ["ann"]


def test_two_runs_at_once_do_not_meet(tmp_path: Path) -> None:
    fcntl = pytest.importorskip("fcntl")
    source = make_zip(tmp_path / "a.zip", {"ann_1_10_x.py": "a"})
    collect(source, tmp_path / "out")
    with (tmp_path / "out" / ".attempts" / ".lock").open("w") as other:
        fcntl.flock(other, fcntl.LOCK_EX)
        with pytest.raises(UsageError, match="Another"):
            collect(source, tmp_path / "out")
    assert collect(source, tmp_path / "out").in_state("unchanged") == ("ann_1",)


_KILLED = """
import os, sys
from pathlib import Path
from autograder.bulk.collect import collect
{patch}
collect(Path(sys.argv[1]), Path(sys.argv[2]))
"""
_IN_A_COPY = """
from autograder.bulk.collect import _copy
real, calls = _copy._pour, []
def pour(file, stream, out, left):
    calls.append(1)
    if len(calls) == 5:
        out.write(b"half"); out.flush(); os.kill(os.getpid(), 9)
    return real(file, stream, out, left)
_copy._pour = pour
"""
_IN_A_RENAME = """
renamed = Path.rename
calls = []
def rename(self, target):
    calls.append(1)
    if len(calls) == {number}:
        os.kill(os.getpid(), 9)
    return renamed(self, target)
Path.rename = rename
"""


@pytest.mark.parametrize("patch", [_IN_A_COPY, *(_IN_A_RENAME.format(number=n) for n in (1, 2, 3, 4))])
def test_a_run_that_is_killed_leaves_whole_folders_and_the_next_one_completes(tmp_path: Path, patch: str) -> None:
    out = tmp_path / "out"
    first = {f"s{n}_{n}_{10 * n}_{name}.py": f"old {n}" for n in (1, 2, 3) for name in ("x", "y")}
    second = {f"s{n}_{n}_{10 * n + 5}_{name}.py": f"new {n}" for n in (1, 2, 3, 4) for name in ("x", "y")}
    collect(make_zip(tmp_path / "a.zip", first), out)
    newer = make_zip(tmp_path / "b.zip", second)
    program = _KILLED.format(patch=patch)
    killed = subprocess.run([sys.executable, "-c", program, newer, out], cwd=ROOT, env=os.environ, check=False)
    assert killed.returncode == -signal.SIGKILL
    for student in students(out):
        texts = [path.read_text() for path in (out / student).iterdir()]
        assert len(texts) == 2
        assert len(set(texts)) == 1
    collect(newer, out)
    assert held(out) == {f"s{n}_{n}/{name}.py": f"new {n}" for n in (1, 2, 3, 4) for name in ("x", "y")}
    assert held(out, kept=True) == {f"s{n}_{n}/1/{name}.py": f"old {n}" for n in (1, 2, 3) for name in ("x", "y")}
    assert {student: one.attempts for student, one in submissions(out).items()} == {
        "s1_1": 2,
        "s2_2": 2,
        "s3_3": 2,
        "s4_4": 1,
    }
    assert not list(out.glob(".collecting-*"))


def test_the_first_run_killed_is_completed_by_the_next(tmp_path: Path) -> None:
    files = {f"s{n}_{n}_{n}_{name}.py": str(n) for n in (1, 2, 3) for name in ("x", "y")}
    source = make_zip(tmp_path / "a.zip", files)
    program = _KILLED.format(patch=_IN_A_COPY)
    killed = subprocess.run([sys.executable, "-c", program, source, tmp_path / "out"], cwd=ROOT, check=False)
    assert killed.returncode == -signal.SIGKILL
    assert students(tmp_path / "out") == ["s1_1", "s2_2"]
    collected = collect(source, tmp_path / "out")
    assert (collected.in_state("unchanged"), collected.in_state("new")) == (("s1_1", "s2_2"), ("s3_3",))
    assert len(held(tmp_path / "out")) == 6


def test_who_stops_it_keeps_what_is_done(tmp_path: Path) -> None:
    source = make_zip(tmp_path / "a.zip", {"ann_1_10_x.py": "a", "bob_2_11_x.py": "b"})

    def stop(done: int, total: int) -> None:
        if done == 1:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        collect(source, tmp_path / "out", progress=stop)
    assert set(submissions(tmp_path / "out")) == {"ann_1"}
    assert students(tmp_path / "out") == ["ann_1"]
