"""Hostile content is refused one by one, everyone else is collected, and nothing is written outside the folder."""

from __future__ import annotations

import io
import os
import stat
import struct
import tracemalloc
import zipfile
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from autograder.bulk.collect import Collected, collect
from autograder.errors import UsageError

from .making import held, make_folder, make_zip, reasons, students

BOB = {"bob_2_20_x.py": "print('bob')"}
MOODLE = "Jane Doe_1_assignsubmission_file_/"


@pytest.fixture(autouse=True)
def _nothing_outside(tmp_path: Path) -> Iterator[None]:
    """All tests here write their source into ``tmp_path`` and collect into ``tmp_path/deep/out``."""
    (tmp_path / "deep").mkdir()
    yield
    assert {path.name for path in (tmp_path / "deep").iterdir()} <= {"out"}
    left = [
        path for path in (tmp_path / "deep").rglob("*") if path.is_symlink() or not (path.is_file() or path.is_dir())
    ]
    assert left == []
    assert not list((tmp_path / "deep").rglob("evil*"))
    assert not list((tmp_path / "deep" / "out").glob(".collecting-*"))


def collected_from(path: Path, files: dict[str, str | bytes]) -> Collected:
    return collect(make_zip(path / "a.zip", {**files, **BOB}), path / "deep" / "out")


def bob_is_there(tmp_path: Path) -> bool:
    return held(tmp_path / "deep" / "out")["bob_2/x.py"] == "print('bob')"


@pytest.mark.parametrize(
    "name", ["/evil.py", "../evil.py", "../../evil.py", "C:/evil.py", "c:evil.py", "//host/evil.py", "./../evil.py"]
)
def test_a_name_that_leads_out_of_the_download_is_refused(tmp_path: Path, name: str) -> None:
    collected = collected_from(tmp_path, {name: "evil"})
    assert "leads out" in reasons(collected)[name]
    assert students(tmp_path / "deep" / "out") == ["bob_2"]
    assert bob_is_there(tmp_path)


@pytest.mark.parametrize(
    ("name", "reason"),
    [
        ("../evil.py", "leads out"),
        ("../../Bob_2_assignsubmission_file_/x.py", "leads out"),
        ("a/../../../evil.py", "leads out"),
        ("..\\..\\evil.py", "backslash"),
        ("C:\\evil.py", "leads out"),
        ("\\evil.py", "backslash"),
        ("a\x1b[2Jb.py", "control characters"),
        ("a\rb.py", "control characters"),
        ("a\u2028b.py", "control characters"),
        ("a" * 256, "too long"),
        ("é" * 128, "too long"),
        ("d/" * 25 + "x.py", "20 folders deep"),
    ],
)
def test_a_name_that_leads_out_of_the_hand_in_or_hides_is_refused(tmp_path: Path, name: str, reason: str) -> None:
    files = {MOODLE + name: "evil", MOODLE + "good.py": "good", "Bob_2_assignsubmission_file_/x.py": "bob"}
    collected = collect(make_zip(tmp_path / "a.zip", files), tmp_path / "deep" / "out")
    (refusal,) = collected.refused
    assert reason in refusal.reason
    assert refusal.student == "Jane Doe_1"
    assert refusal.shown.isprintable()
    assert held(tmp_path / "deep" / "out") == {"Jane Doe_1/good.py": "good", "Bob_2/x.py": "bob"}


def test_a_nul_in_a_name_is_refused_and_hides_no_ending(tmp_path: Path) -> None:
    source = make_zip(tmp_path / "a.zip", {"jane_1_10_x.py_evil": "evil", **BOB})
    source.write_bytes(source.read_bytes().replace(b"x.py_evil", b"x.py\0evil"))
    collected = collect(source, tmp_path / "deep" / "out")
    assert reasons(collected) == {"jane_1_10_x.py\\x00evil": "has a NUL in its name"}
    assert students(tmp_path / "deep" / "out") == ["bob_2", "jane_1"]


@pytest.mark.parametrize("kind", [stat.S_IFLNK, stat.S_IFIFO, stat.S_IFCHR, stat.S_IFBLK, stat.S_IFSOCK])
def test_links_and_devices_in_a_zip_are_refused(tmp_path: Path, kind: int) -> None:
    info = zipfile.ZipInfo("jane_1_10_x.py")
    info.create_system = 3
    info.external_attr = (kind | 0o777) << 16
    with zipfile.ZipFile(tmp_path / "a.zip", "w") as archive:
        archive.writestr(info, "/etc/passwd")
        archive.writestr("bob_2_20_x.py", "print('bob')")
    collected = collect(tmp_path / "a.zip", tmp_path / "deep" / "out")
    assert list(reasons(collected)) == ["jane_1_10_x.py"]
    assert held(tmp_path / "deep" / "out") == {"bob_2/x.py": "print('bob')"}
    assert students(tmp_path / "deep" / "out") == ["bob_2", "jane_1"]


def test_links_pipes_and_what_they_lead_to_in_a_folder_are_refused(tmp_path: Path) -> None:
    outside = make_folder(tmp_path / "outside", {"secret.py": "secret"})
    source = make_folder(tmp_path / "class", {"ann/x.py": "a", "bob/x.py": "b"})
    (source / "ann" / "link.py").symlink_to(outside / "secret.py")
    (source / "ann" / "folder").symlink_to(outside)
    os.mkfifo(source / "ann" / "pipe.py")
    (source / "cem").symlink_to(outside)
    (source / "dan.py").symlink_to(outside / "secret.py")
    os.mkfifo(source / "eve.py")
    collected = collect(source, tmp_path / "deep" / "out")
    assert set(reasons(collected)) == {"ann/link.py", "ann/folder", "ann/pipe.py", "cem", "dan.py", "eve.py"}
    assert held(tmp_path / "deep" / "out") == {"ann/x.py": "a", "bob/x.py": "b"}
    assert students(tmp_path / "deep" / "out") == ["ann", "bob", "cem", "dan", "eve"]


def test_a_link_that_was_a_file_when_it_was_listed_is_not_followed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    source = make_folder(tmp_path / "class", {"ann/x.py": "a"})
    secret = make_folder(tmp_path / "outside", {"secret.py": "secret"}) / "secret.py"

    def swap(files: object, folder: Path) -> object:
        (source / "ann" / "x.py").unlink(missing_ok=True)
        (source / "ann" / "x.py").symlink_to(secret)
        return copy_attempt(files, folder)  # type: ignore[arg-type]

    from autograder.bulk.collect._copy import copy_attempt

    monkeypatch.setattr("autograder.bulk.collect._run.copy_attempt", swap)
    assert "is a link" in reasons(collect(source, tmp_path / "deep" / "out"))["ann/x.py"]
    assert held(tmp_path / "deep" / "out") == {}


def test_a_file_that_claims_or_has_two_gigabytes_is_refused(tmp_path: Path) -> None:
    source = make_folder(tmp_path / "class", {"ann/x.py": "a", "bob/x.py": "b"})
    with (source / "ann" / "huge.zip").open("wb") as stream:
        stream.truncate(2 << 30)
    assert "over 100 MB" in reasons(collect(source, tmp_path / "deep" / "out"))["ann/huge.zip"]
    assert held(tmp_path / "deep" / "out") == {"ann/x.py": "a", "bob/x.py": "b"}


def test_a_size_claimed_in_a_zip_is_refused_before_anything_is_unpacked(tmp_path: Path) -> None:
    source = make_zip(tmp_path / "a.zip", {"jane_1_10_x.py": b"a" * 1000, **BOB})
    data = bytearray(source.read_bytes())
    start = data.index(b"PK\x01\x02")
    data[start + 24 : start + 28] = struct.pack("<I", 2 << 30)
    source.write_bytes(data)
    assert "over 100 MB" in reasons(collect(source, tmp_path / "deep" / "out"))["jane_1_10_x.py"]
    assert bob_is_there(tmp_path)


def test_a_bomb_is_not_unpacked_whatever_size_it_claims(tmp_path: Path) -> None:
    bomb = b"\0" * 30_000_000
    source = make_zip(tmp_path / "a.zip", {"jane_1_10_x.py": bomb, "roe_3_30_x.py": bomb, **BOB})
    data = bytearray(source.read_bytes())
    start = data.index(b"PK\x01\x02")
    data[start + 24 : start + 28] = struct.pack("<I", 1000)
    source.write_bytes(data)
    found = reasons(collect(source, tmp_path / "deep" / "out"))
    assert "damaged" in found["jane_1_10_x.py"]
    assert "zip bomb" in found["roe_3_30_x.py"]
    assert held(tmp_path / "deep" / "out") == {"bob_2/x.py": "print('bob')"}


def test_a_bomb_in_a_student_s_zip_is_never_opened(tmp_path: Path) -> None:
    data = b"\0" * 50_000_000
    for name in ("a", "b", "c"):
        stream = io.BytesIO()
        with zipfile.ZipFile(stream, "w", zipfile.ZIP_DEFLATED) as archive:
            archive.writestr(name, data)
        data = stream.getvalue()
    assert not collected_from(tmp_path, {"jane_1_10_hw.zip": data}).refused
    assert (tmp_path / "deep" / "out" / "jane_1" / "hw.zip").read_bytes() == data


def test_a_hand_in_is_bounded_in_size_and_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("autograder.bulk.collect._copy.MAX_ATTEMPT_BYTES", 25)
    monkeypatch.setattr("autograder.bulk.collect._copy.MAX_ATTEMPT_FILES", 3)
    files = {f"jane_1_{10 + n}_{n}.py": "x" * 10 for n in range(3)}
    files |= {f"roe_3_{30 + n}_{n}.py": "x" for n in range(5)}
    found = reasons(collected_from(tmp_path, files))
    assert "the hand-in is over" in found["jane_1_12_2.py"]
    assert "more than 3 files" in found["roe_3_33_3.py"]
    assert len(found) == 3
    assert bob_is_there(tmp_path)


def test_an_encrypted_entry_is_refused(tmp_path: Path) -> None:
    source = make_zip(tmp_path / "a.zip", {"jane_1_10_x.py": "a", **BOB})
    data = bytearray(source.read_bytes())
    data[data.index(b"PK\x01\x02") + 8] |= 1
    source.write_bytes(data)
    assert "encrypted" in reasons(collect(source, tmp_path / "deep" / "out"))["jane_1_10_x.py"]
    assert bob_is_there(tmp_path)


@pytest.mark.parametrize("method", [zipfile.ZIP_BZIP2, zipfile.ZIP_LZMA])
def test_methods_that_unpack_without_a_limit_are_refused(tmp_path: Path, method: int) -> None:
    with zipfile.ZipFile(tmp_path / "a.zip", "w", method) as archive:
        archive.writestr("jane_1_10_x.py", "a" * 1000)
        archive.writestr("bob_2_20_x.py", "print('bob')", zipfile.ZIP_STORED)
    assert "method" in reasons(collect(tmp_path / "a.zip", tmp_path / "deep" / "out"))["jane_1_10_x.py"]
    assert bob_is_there(tmp_path)


def test_a_damaged_entry_leaves_no_half_of_a_file(tmp_path: Path) -> None:
    noise = bytes(range(256)) * 4000
    source = tmp_path / "a.zip"
    with zipfile.ZipFile(source, "w", zipfile.ZIP_STORED) as archive:
        archive.writestr("jane_1_10_x.py", noise)
        archive.writestr("jane_1_11_y.py", "good")
        archive.writestr("bob_2_20_x.py", "print('bob')")
    data = bytearray(source.read_bytes())
    data[900_000] ^= 0xFF
    source.write_bytes(data)
    assert reasons(collect(source, tmp_path / "deep" / "out")) == {"jane_1_10_x.py": "is damaged in the zip"}
    assert held(tmp_path / "deep" / "out") == {"jane_1/y.py": "good", "bob_2/x.py": "print('bob')"}


@pytest.mark.filterwarnings("ignore:Duplicate name")
def test_of_entries_with_one_name_the_last_counts_and_the_others_are_named(tmp_path: Path) -> None:
    with zipfile.ZipFile(tmp_path / "a.zip", "w") as archive:
        for text in ("first", "second", "third"):
            archive.writestr(MOODLE + "x.py", text)
    collected = collect(tmp_path / "a.zip", tmp_path / "deep" / "out")
    assert [one.reason for one in collected.refused] == ["is in the zip more than once; the last one counts"] * 2
    assert held(tmp_path / "deep" / "out") == {"Jane Doe_1/x.py": "third"}


def test_names_that_meet_on_some_file_system_are_refused(tmp_path: Path) -> None:
    names = ["x.py", "X.py", "caf\u00e9.py", "cafe\u0301.py", "a", "a/b.py", "c/d.py", "C"]
    source = make_zip(tmp_path / "a.zip", {MOODLE + name: name for name in names})
    found = reasons(collect(source, tmp_path / "deep" / "out"))
    assert {name.removeprefix(MOODLE) for name in found} == {"X.py", "cafe\u0301.py", "a/b.py", "C"}
    assert set(held(tmp_path / "deep" / "out").values()) == {"x.py", "caf\u00e9.py", "a", "c/d.py"}


def test_a_name_that_is_not_the_utf_8_it_claims_costs_only_itself(tmp_path: Path) -> None:
    source = make_zip(
        tmp_path / "a.zip", {"Jané_1_assignsubmission_file_/x.py": "a", "Bob_2_assignsubmission_file_/x.py": "b"}
    )
    source.write_bytes(source.read_bytes().replace("Jané".encode(), b"Jan\xff\xfe"))
    collected = collect(source, tmp_path / "deep" / "out")
    assert held(tmp_path / "deep" / "out")["Bob_2/x.py"] == "b"
    (other,) = set(students(tmp_path / "deep" / "out")) - {"Bob_2"}
    # Whether zipfile opens it is a matter of its version; refused or taken, it is there.
    assert len(collected.refused) + len(held(tmp_path / "deep" / "out")) == 2
    assert other.startswith("Jan")


def test_a_hand_in_of_any_size_is_copied_in_small_pieces(tmp_path: Path) -> None:
    with zipfile.ZipFile(tmp_path / "a.zip", "w", zipfile.ZIP_STORED) as archive:
        archive.writestr("jane_1_10_big.zip", os.urandom(40_000_000))
    tracemalloc.start()
    try:
        collect(tmp_path / "a.zip", tmp_path / "deep" / "out")
        assert tracemalloc.get_traced_memory()[1] < 8_000_000
    finally:
        tracemalloc.stop()
    assert (tmp_path / "deep" / "out" / "jane_1" / "big.zip").stat().st_size == 40_000_000


def test_a_full_disk_is_a_sentence_and_loses_nobody(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from autograder.bulk.collect import _copy

    pour: Callable[..., int] = _copy._pour

    def full(file: object, stream: object, out: object, left: int) -> int:
        if getattr(file, "shown", "").startswith("jane"):
            raise OSError(28, "No space left on device")
        return pour(file, stream, out, left)

    monkeypatch.setattr(_copy, "_pour", full)
    with pytest.raises(UsageError, match="no space left"):
        collected_from(tmp_path, {"jane_1_10_x.py": "a"})
    assert students(tmp_path / "deep" / "out") == ["bob_2"]


def test_what_was_handed_in_can_not_be_started_by_a_click(tmp_path: Path) -> None:
    source = make_folder(tmp_path / "class", {"ann/x.py": "a"})
    (source / "ann" / "x.py").chmod(0o4755)
    collect(source, tmp_path / "deep" / "out")
    assert stat.S_IMODE((tmp_path / "deep" / "out" / "ann" / "x.py").stat().st_mode) & 0o7111 == 0


def test_a_student_with_too_many_entries_costs_nobody_else(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("autograder.bulk.collect._source.MAX_TOP_ENTRIES", 10)
    source = make_folder(tmp_path / "class", {**{f"ann/{n}.py": "a" for n in range(30)}, "bob/x.py": "b"})
    assert "more than 10 entries" in reasons(collect(source, tmp_path / "deep" / "out"))["ann"]
    assert held(tmp_path / "deep" / "out")["bob/x.py"] == "b"


def test_a_list_of_entries_without_end_is_a_sentence(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    source = make_zip(tmp_path / "a.zip", {f"ann_1_{n}_x.py": "a" for n in range(100)})
    for limit, name in ((50, "MAX_ENTRIES"), (1000, "MAX_LIST_BYTES")):
        with monkeypatch.context() as patched:
            patched.setattr(f"autograder.bulk.collect._source.{name}", limit)
            with pytest.raises(UsageError, match="npack it and give"):
                collect(source, tmp_path / "deep" / "out")


def test_a_folder_that_may_not_be_read_is_refused(tmp_path: Path) -> None:
    source = make_folder(tmp_path / "class", {"ann/x.py": "a", "ann/no/y.py": "n", "bob/x.py": "b"})
    (source / "ann" / "no").chmod(0)
    try:
        if os.access(source / "ann" / "no", os.R_OK):
            pytest.skip("this user may read everything")
        assert "could not be looked into" in reasons(collect(source, tmp_path / "deep" / "out"))["ann/no"]
    finally:
        (source / "ann" / "no").chmod(0o755)
    assert held(tmp_path / "deep" / "out") == {"ann/x.py": "a", "bob/x.py": "b"}
