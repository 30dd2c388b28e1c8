"""Bytes to text: encodings, line ends, and the lines Python counts."""

from __future__ import annotations

import ast
import codecs
from pathlib import Path

import pytest

from autograder.handin import Source, split_lines

from .making import FLASH, read, work, write

WORK = work(FLASH, "größer")


@pytest.mark.parametrize(
    ("mark", "codec"),
    [
        (b"", "utf-8"),
        (codecs.BOM_UTF8, "utf-8"),
        (codecs.BOM_UTF16_LE, "utf-16-le"),
        (codecs.BOM_UTF16_BE, "utf-16-be"),
        (codecs.BOM_UTF32_LE, "utf-32-le"),
        (codecs.BOM_UTF32_BE, "utf-32-be"),
    ],
)
def test_utf8_and_the_encoding_of_a_byte_order_mark_are_read(tmp_path: Path, mark: bytes, codec: str) -> None:
    root = write(tmp_path / "hw", {"lesson7/flash_attention.py": mark + WORK.encode(codec)})
    source = read(root).sources[FLASH]
    assert source.text == WORK
    assert source.problem is None
    assert source.line is None


@pytest.mark.parametrize(
    ("data", "line"),
    [
        (WORK.encode("latin-1"), 2),
        (b"\xff", 1),
        (b"a\r\nb\rc\n\xe9", 4),
        (b"a = '\xe2\x80\xa8\x0c'\n\xe9\n", 2),  # U+2028 and a form feed are no line ends
        (b"\n\n\xed\xa0\x80\n", 3),  # a surrogate
        (codecs.BOM_UTF16_LE + "a\nb\n".encode("utf-16-le") + b"\x00\xd8", 3),
    ],
)
def test_other_bytes_are_refused_with_the_line_of_the_first_bad_one(tmp_path: Path, data: bytes, line: int) -> None:
    source = read(write(tmp_path / "hw", {"flash_attention.py": data})).sources[FLASH]
    assert source.text is None
    assert source.line == line
    assert source.problem is not None
    assert f"line {line}" in source.problem
    assert source.problem.startswith("flash_attention.py is not UTF-")


def test_an_undecodable_file_of_any_name_is_refused_where_its_functions_belong(tmp_path: Path) -> None:
    path = tmp_path / "final.py"
    path.write_bytes(WORK.encode("latin-1"))
    assert read(path).sources[FLASH].line == 2


@pytest.mark.parametrize("cookie", ["latin-1", "utf-16", "no-such-codec"])
def test_coding_lines_are_ignored_and_parse(tmp_path: Path, cookie: str) -> None:
    text = f"# -*- coding: {cookie} -*-\n" + WORK
    source = read(write(tmp_path / "hw", {"flash_attention.py": text})).sources[FLASH]
    assert source.text == text
    assert "größer" in ast.dump(ast.parse(text))


@pytest.mark.parametrize("end", ["\r\n", "\r"])
def test_line_ends_stay_as_they_are(tmp_path: Path, end: str) -> None:
    text = WORK.replace("\n", end)
    assert read(write(tmp_path / "hw", {"final.py": text})).sources[FLASH].text == text


def test_null_bytes_are_left_to_the_next_room(tmp_path: Path) -> None:
    text = WORK + "\0"
    assert read(write(tmp_path / "hw", {"flash_attention.py": text})).sources[FLASH].text == text


@pytest.mark.parametrize(
    ("text", "lines"),
    [
        ("", []),
        ("a", ["a"]),
        ("a\n", ["a"]),
        ("a\r\nb\rc\nd", ["a", "b", "c", "d"]),
        ("a\n\n", ["a", ""]),
        ("\n\r", ["", ""]),
        ("a\x0cb\u2028c\x0bd\x85e\x1cf", ["a\x0cb\u2028c\x0bd\x85e\x1cf"]),
    ],
)
def test_lines_are_those_of_the_parser(text: str, lines: list[str]) -> None:
    assert split_lines(text) == lines


@pytest.mark.parametrize("end", ["\n", "\r\n", "\r", "\x0c\n", "# \u2028\n", "# \x85\x0b\x1c\n"])
def test_line_numbers_agree_with_the_syntax_tree(end: str) -> None:
    text = f"a = 1 {end}b = 2 {end}c = 3"
    last = ast.parse(text).body[-1].lineno
    assert last == 3
    assert split_lines(text)[last - 1] == "c = 3"


@pytest.mark.parametrize(
    ("line", "place"),
    [(1, "cell 1, line 1"), (3, "cell 1, line 3"), (4, "cell 2, line 1"), (9, "cell 3, line 5")],
)
def test_a_line_of_a_notebook_is_told_by_its_cell(line: int, place: str) -> None:
    assert Source("hw.ipynb", "...", None, None, (1, 4, 5)).locate(line) == place


def test_a_line_of_a_py_is_told_by_its_number() -> None:
    assert Source("x.py", "...", None, None).locate(12) == "line 12"
