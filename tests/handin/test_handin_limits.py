"""Sizes and numbers: what is too much is named, what comes first is kept, and bombs do not go off."""

from __future__ import annotations

import struct
import tracemalloc
import zipfile
from pathlib import Path

import pytest

from autograder.errors import HandInError
from autograder.handin._limits import MAX_NOTES

from .making import FLASH, ONE_SHOT, SOFTMAX, notebook, noted, read, texts, work, write, zip_bytes

MB = 1_000_000
FLASH_FILE = "lesson7/flash_attention.py"


def padded(size: int) -> str:
    """A started flash_attention.py of exactly ``size`` bytes."""
    return work(FLASH).ljust(size - 1, "#") + "\n"


@pytest.mark.parametrize("packed", [False, True])
def test_a_file_may_have_one_megabyte_and_not_a_byte_more(tmp_path: Path, packed: bool) -> None:
    for size in (MB, MB + 1):
        files: dict[str, str | bytes] = {FLASH_FILE: padded(size), "softmax.py": work(SOFTMAX)}
        root = write(tmp_path / f"{size}", {"hw.zip": zip_bytes(files)} if packed else files)
        source = read(root).sources[FLASH]
        assert (source.text is not None) is (size == MB)
        assert size == MB or (source.problem is not None and "over 1 MB" in source.problem)
        assert read(root).sources[SOFTMAX].text


def test_outputs_of_a_notebook_do_not_count_for_its_megabyte(tmp_path: Path) -> None:
    path = tmp_path / "hw.ipynb"
    output = {"output_type": "stream", "name": "stdout", "text": "x" * (5 * MB)}
    cell = {"cell_type": "code", "source": work(FLASH), "outputs": [output], "metadata": {}}
    path.write_text(notebook(cells=[cell]))
    assert read(path).sources[FLASH].text == work(FLASH)


def test_code_of_a_notebook_over_a_megabyte_is_too_much(tmp_path: Path) -> None:
    path = tmp_path / "hw.ipynb"
    path.write_text(notebook(padded(MB + 1)))
    problem = read(path).sources[FLASH].problem
    assert problem == "hw.ipynb was not read: its code is over 1 MB."


@pytest.mark.parametrize("packed", [False, True])
def test_a_hand_in_may_have_20_megabytes(tmp_path: Path, packed: bool) -> None:
    files = {f"n{number:02}.ipynb": notebook("x", pad="x" * (3 * MB)) for number in range(7)}
    files[FLASH_FILE] = work(FLASH)
    root = write(tmp_path / "hw", {"hw.zip": zip_bytes(files)} if packed else files)
    handin = read(root)
    assert texts(handin) == {FLASH: work(FLASH)}
    assert noted(handin, "n06.ipynb", "over 20 MB")
    assert not noted(handin, "n05.ipynb", "over 20 MB")


def test_what_is_honestly_too_large_costs_only_itself(tmp_path: Path) -> None:
    big = notebook("x", pad="x" * (21 * MB))
    root = write(tmp_path / "hw", {"hw.zip": zip_bytes({"a.ipynb": big, "b.ipynb": notebook(work(FLASH))})})
    handin = read(root)
    assert handin.sources[FLASH].path == "hw.zip!b.ipynb"
    assert noted(handin, "a.ipynb", "over 20 MB")


@pytest.mark.parametrize("packed", [False, True])
def test_of_501_files_500_are_read_the_wanted_first(tmp_path: Path, packed: bool) -> None:
    files = {f"a{number:03}.py": "x = 1\n" for number in range(500)} | {"lesson7/flash_attention.py": work(FLASH)}
    root = write(tmp_path / "hw", {"hw.zip": zip_bytes(files)} if packed else files)
    handin = read(root)
    assert texts(handin) == {FLASH: work(FLASH)}
    assert noted(handin, "more than 500 files", "a499.py")


def test_a_wanted_file_beyond_the_500th_is_refused_and_not_taken_for_missing(tmp_path: Path) -> None:
    files = {f"a{number:03}.py": "x = 1\n" for number in range(498)} | {"softmax.py": work(SOFTMAX)}
    inner = {FLASH_FILE: work(FLASH), "lesson7/one_shot_attention.py": work(ONE_SHOT)}
    root = write(tmp_path / "hw", {**files, "hw.zip": zip_bytes(inner)})
    problem = read(root).sources[FLASH].problem
    assert problem is not None
    assert "more than 500 files" in problem


def test_files_that_are_not_read_do_not_count(tmp_path: Path) -> None:
    files = {f"data/{number}.csv": "" for number in range(600)} | {"final.py": work(FLASH)}
    assert read(write(tmp_path / "hw", files)).sources[FLASH].text


def test_a_huge_folder_is_looked_at_up_to_a_bound(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("autograder.handin._limits.Budget.__init__.__defaults__", (500, 20 * MB, 50))
    root = write(tmp_path / "hw", {f"{number}.txt": "" for number in range(60)} | {"z/x.py": work(FLASH)})
    with pytest.raises(HandInError, match="Not all of the hand-in was looked at"):
        read(root)


def test_skipped_entries_are_named_but_not_without_end(tmp_path: Path) -> None:
    path = tmp_path / "hw.zip"
    path.write_bytes(zip_bytes({f"../{number}.py": "" for number in range(300)} | {"x.py": work(FLASH)}))
    notes = read(path).notes
    assert len(notes) <= MAX_NOTES + 2
    assert "260 more entries were skipped." in notes


def peak_of_reading(path: Path) -> int:
    """Bytes of Python memory at the peak of reading a hand-in in which something is readable."""
    tracemalloc.start()
    try:
        assert read(path).sources[SOFTMAX].text == work(SOFTMAX)
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


def test_a_nested_bomb_is_stopped_while_it_is_read(tmp_path: Path) -> None:
    zeros = zip_bytes({"flash_attention.py": bytes(100 * MB)})
    assert len(zeros) < MB
    bomb = zip_bytes({"a.zip": zip_bytes({f"{n}.zip": zeros for n in range(5)}), "softmax.py": work(SOFTMAX)})
    path = tmp_path / "hw.zip"
    path.write_bytes(bomb)
    assert peak_of_reading(path) < 50 * MB
    problem = read(path).sources[FLASH].problem
    assert problem is not None
    assert "over 1 MB" in problem


def with_sizes(data: bytes, real: int, told: int) -> bytes:
    """The zip with the unpacked size ``real`` replaced in both headers."""
    assert data.count(struct.pack("<L", real)) == 2
    return data.replace(struct.pack("<L", real), struct.pack("<L", told))


@pytest.mark.parametrize("told", [10, 999_999, 70 * MB])
@pytest.mark.parametrize("name", ["lesson7/flash_attention.py", "x.ipynb", "x.zip"])
def test_a_header_that_lies_about_the_size_costs_its_own_entry(tmp_path: Path, name: str, told: int) -> None:
    inner = zip_bytes({name: b"0" * 60_000_123, "softmax.py": work(SOFTMAX)})
    path = tmp_path / "hw.zip"
    path.write_bytes(with_sizes(inner, 60_000_123, told))
    assert peak_of_reading(path) < 50 * MB
    handin = read(path)
    assert FLASH not in handin.sources or handin.sources[FLASH].text is None
    assert noted(handin, name) or handin.sources[FLASH].problem


def test_entries_that_share_their_bytes_are_counted_each(tmp_path: Path) -> None:
    """A bomb without nesting: many entries in the list, one block of data."""
    data = zip_bytes({"aaa.ipynb": bytes(9 * MB), "softmax.py": work(SOFTMAX)})
    start = data.index(b"PK\x01\x02")
    end = data.rindex(b"PK\x05\x06")
    length = data.index(b"PK\x01\x02", start + 4) - start
    many = b"".join(data[start : start + length].replace(b"aaa", f"{n:03}".encode()) for n in range(300))
    listing = many + data[start + length : end]
    tail = struct.pack("<4s4H2LH", b"PK\x05\x06", 0, 0, 301, 301, len(listing), start, 0)
    path = tmp_path / "hw.zip"
    path.write_bytes(data[:start] + listing + tail)
    assert peak_of_reading(path) < 50 * MB


def test_a_zip_that_lists_too_many_entries_is_not_opened(tmp_path: Path) -> None:
    inner = zip_bytes({f"{number:060}": "" for number in range(12_000)}, zipfile.ZIP_STORED)
    root = write(tmp_path / "hw", {"hw.zip": inner, "softmax.py": work(SOFTMAX)})
    handin = read(root)
    assert set(handin.sources) == {SOFTMAX}
    assert noted(handin, "hw.zip", "too many entries")


def test_many_zips_together_may_not_list_too_many_entries(tmp_path: Path) -> None:
    inner = zip_bytes({f"{number:020}": "" for number in range(9_000)}, zipfile.ZIP_STORED)
    files = {f"{number}.zip": inner for number in range(4)} | {"softmax.py": work(SOFTMAX)}
    handin = read(write(tmp_path / "hw", files))
    assert noted(handin, "2.zip", "more than 20000 entries")
    assert noted(handin, "3.zip", "more than 20000")


def test_a_name_of_64_kilobytes_is_skipped_at_once(tmp_path: Path) -> None:
    path = tmp_path / "hw.zip"
    path.write_bytes(zip_bytes({".py.bak\n" * 8_000 + ".py": "", "a/" * 30_000 + "x.py": "", "x.py": work(FLASH)}))
    assert read(path).sources[FLASH].text
