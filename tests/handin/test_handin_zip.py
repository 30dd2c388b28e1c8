"""Zips: hostile names, kinds of entries and headers cost their own entry and nothing else."""

from __future__ import annotations

import stat
import zipfile
from pathlib import Path

import pytest

from autograder.errors import HandInError
from autograder.handin import HandIn

from .making import (
    FLASH,
    ONE_SHOT,
    SOFTMAX,
    Entries,
    noted,
    read,
    special_entry,
    texts,
    work,
    write,
    zip_bytes,
)

FLASH_FILE = "lesson7/flash_attention.py"
SOFTMAX_ENTRY = {"lesson3/softmax.py": work(SOFTMAX)}


def read_zip(folder: Path, entries: Entries | bytes) -> HandIn:
    """Read a zip of these entries, or of these bytes, handed in as hw.zip."""
    path = folder / "hw.zip"
    path.write_bytes(entries if isinstance(entries, bytes) else zip_bytes(entries))
    return read(path)


def flags_changed(data: bytes, set_flags: int) -> bytes:
    """Set flag bits of the first entry, in its own header and in the list at the end."""
    changed = bytearray(data)
    changed[6] |= set_flags & 0xFF
    changed[7] |= set_flags >> 8
    start = data.index(b"PK\x01\x02")
    changed[start + 8] |= set_flags & 0xFF
    changed[start + 9] |= set_flags >> 8
    return bytes(changed)


@pytest.mark.parametrize("name", [FLASH_FILE, "a/b/c/" + FLASH_FILE, "flash_attention.py", "./" + FLASH_FILE])
def test_a_zip_is_looked_through_like_a_folder(tmp_path: Path, name: str) -> None:
    handin = read_zip(tmp_path, {name: work(FLASH), "README.md": "hello"})
    assert texts(handin) == {FLASH: work(FLASH)}
    assert handin.sources[FLASH].path == "hw.zip!" + name.removeprefix("./")
    assert handin.notes == ()


def test_a_zip_inside_a_folder_is_opened(tmp_path: Path) -> None:
    root = write(tmp_path / "hw", {"sub/hw.zip": zip_bytes({FLASH_FILE: work(FLASH)})})
    assert read(root).sources[FLASH].path == "sub/hw.zip!" + FLASH_FILE


def nested(depth: int) -> bytes:
    """A zip in a zip ..., ``depth`` of them, around flash_attention.py."""
    data = zip_bytes({FLASH_FILE: work(FLASH)})
    for _ in range(depth - 1):
        data = zip_bytes({"in.zip": data})
    return data


def test_zips_are_opened_three_deep_and_the_fourth_is_named(tmp_path: Path) -> None:
    handin = read_zip(tmp_path, nested(3))
    assert handin.sources[FLASH].path == "hw.zip!in.zip!in.zip!" + FLASH_FILE
    with pytest.raises(HandInError, match=r"in\.zip!in\.zip!in\.zip was not opened: .* three zips deep"):
        read_zip(tmp_path, nested(4))
    assert noted(read_zip(tmp_path, {**SOFTMAX_ENTRY, "in.zip": nested(3)}), "three zips deep")


@pytest.mark.parametrize(
    "name",
    [
        "/etc/flash_attention.py",
        "../flash_attention.py",
        "lesson7/../../flash_attention.py",
        "C:/hw/flash_attention.py",
        "c:flash_attention.py",
        "\\\\server\\share\\flash_attention.py",
        "..\\flash_attention.py",
    ],
)
def test_a_name_that_leads_out_is_skipped_and_named(tmp_path: Path, name: str) -> None:
    handin = read_zip(tmp_path, {name: work(FLASH), **SOFTMAX_ENTRY})
    assert texts(handin) == {SOFTMAX: work(SOFTMAX)}
    assert noted(handin, "flash_attention.py", "leads out of the hand-in")


def test_backslashes_of_old_windows_tools_are_slashes(tmp_path: Path) -> None:
    handin = read_zip(tmp_path, {"hw\\lesson7\\": "", "hw\\lesson7\\flash_attention.py": work(FLASH)})
    assert handin.sources[FLASH].path == "hw.zip!hw/lesson7/flash_attention.py"


@pytest.mark.parametrize(
    ("kind", "words"),
    [
        (stat.S_IFLNK, "is a link"),
        (stat.S_IFIFO, "not a regular file"),
        (stat.S_IFCHR, "not a regular file"),
        (stat.S_IFBLK, "not a regular file"),
        (stat.S_IFSOCK, "not a regular file"),
    ],
)
def test_entries_that_are_no_regular_files_are_refused(tmp_path: Path, kind: int, words: str) -> None:
    handin = read_zip(tmp_path, [(special_entry(FLASH_FILE, kind), "/etc/passwd"), *SOFTMAX_ENTRY.items()])
    source = handin.sources[FLASH]
    assert source.text is None
    assert source.problem is not None
    assert words in source.problem
    assert handin.sources[SOFTMAX].text == work(SOFTMAX)


@pytest.mark.parametrize("kind", [0, stat.S_IFREG])
def test_ordinary_entries_of_any_system_are_read(tmp_path: Path, kind: int) -> None:
    assert read_zip(tmp_path, [(special_entry(FLASH_FILE, kind), work(FLASH))]).sources[FLASH].text


def test_an_encrypted_entry_is_refused_and_the_others_are_read(tmp_path: Path) -> None:
    data = flags_changed(zip_bytes({FLASH_FILE: work(FLASH), **SOFTMAX_ENTRY}), 0x1)
    handin = read_zip(tmp_path, data)
    problem = handin.sources[FLASH].problem
    assert problem == f"hw.zip!{FLASH_FILE} is encrypted; pack it again without a password."
    assert handin.sources[SOFTMAX].text == work(SOFTMAX)


@pytest.mark.parametrize("method", [zipfile.ZIP_BZIP2, zipfile.ZIP_LZMA])
def test_methods_that_cannot_be_read_in_bounds_are_refused(tmp_path: Path, method: int) -> None:
    problem = read_zip(tmp_path, zip_bytes({FLASH_FILE: work(FLASH)}, method)).sources[FLASH].problem
    assert problem is not None
    assert "method" in problem


def test_stored_entries_are_read(tmp_path: Path) -> None:
    assert read_zip(tmp_path, zip_bytes({FLASH_FILE: work(FLASH)}, zipfile.ZIP_STORED)).sources[FLASH].text


@pytest.mark.filterwarnings("ignore:Duplicate name")  # made on purpose
def test_of_duplicate_entries_the_last_counts(tmp_path: Path) -> None:
    handin = read_zip(tmp_path, [(FLASH_FILE, "x = 1\n"), (FLASH_FILE, work(FLASH))])
    assert handin.sources[FLASH].text == work(FLASH)
    assert noted(handin, FLASH_FILE, "more than once")


def test_names_that_differ_only_in_dots_and_slashes_are_duplicates(tmp_path: Path) -> None:
    handin = read_zip(tmp_path, [(FLASH_FILE, "x = 1\n"), ("lesson7//./flash_attention.py", work(FLASH))])
    assert handin.sources[FLASH].text == work(FLASH)


def test_a_name_that_falsely_calls_itself_utf8_costs_nothing(tmp_path: Path) -> None:
    data = zip_bytes({"caf_.py": work(FLASH), **SOFTMAX_ENTRY}).replace(b"caf_.py", b"caf\xe9.py")
    handin = read_zip(tmp_path, flags_changed(data, 0x800))
    assert texts(handin) == {FLASH: work(FLASH), SOFTMAX: work(SOFTMAX)}


def test_utf8_names_without_the_flag_are_shown_right(tmp_path: Path) -> None:
    data = zip_bytes({"caf__.py": work(FLASH)}).replace(b"caf__.py", "café.py".encode())
    assert read_zip(tmp_path, data).sources[FLASH].path == "hw.zip!café.py"


def test_control_characters_in_names_are_escaped_in_paths_and_notes(tmp_path: Path) -> None:
    entries = {"\x1b[2Jx.py": work(FLASH), "../\x1b[31m\u202e.py": "", "\x1b]0;t\x07/a/b/c/d/e.py": ""}
    handin = read_zip(tmp_path, entries)
    assert handin.sources[FLASH].path == r"hw.zip!\x1b[2Jx.py"
    assert len(handin.notes) == 3
    assert all(note.isprintable() for note in handin.notes)


@pytest.mark.parametrize("name", ["__MACOSX/lesson7/flash_attention.py", "__MACOSX/._flash_attention.py", ".git/x.py"])
def test_what_systems_add_to_zips_is_passed_over(tmp_path: Path, name: str) -> None:
    handin = read_zip(tmp_path, {name: work(FLASH), **SOFTMAX_ENTRY})
    assert set(handin.sources) == {SOFTMAX}
    assert handin.notes == ()


def test_a_damaged_entry_is_refused_and_the_others_are_read(tmp_path: Path) -> None:
    data = zip_bytes({FLASH_FILE: work(FLASH), **SOFTMAX_ENTRY}, zipfile.ZIP_STORED)
    handin = read_zip(tmp_path, data.replace(b"online", b"0nline", 1))
    problem = handin.sources[FLASH].problem
    assert problem is not None
    assert "damaged" in problem
    assert handin.sources[SOFTMAX].text == work(SOFTMAX)


@pytest.mark.parametrize(
    ("data", "words"),
    [
        (b"", "not a zip"),
        (b"hello", "not a zip"),
        (b"PK\x03\x04" + bytes(100), "not a zip"),
        (b"Rar!\x1a\x07\x00", "rar archive"),
        (b"7z\xbc\xaf\x27\x1c", "7z archive"),
        (zip_bytes({FLASH_FILE: work(FLASH)})[:-30], "not a zip"),
    ],
)
def test_what_is_no_zip_is_said(tmp_path: Path, data: bytes, words: str) -> None:
    with pytest.raises(HandInError, match=words):
        read_zip(tmp_path, data)
    root = write(tmp_path / "hw", {"bad.zip": data, "one_shot_attention.py": work(ONE_SHOT)})
    handin = read(root)
    assert set(handin.sources) == {ONE_SHOT}
    assert noted(handin, "bad.zip", words)


def test_nothing_is_unpacked_to_disk(tmp_path: Path) -> None:
    read_zip(tmp_path, {FLASH_FILE: work(FLASH), "in.zip": nested(2)})
    assert [path.name for path in tmp_path.iterdir()] == ["hw.zip"]
