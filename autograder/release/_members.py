"""A file of a release, taken apart to the texts in it: zips and wheels, notebooks, JSON, TOML, strings of Python."""

from __future__ import annotations

import ast
import html
import io
import json
import re
import tomllib
import zipfile
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from autograder.release._syntax import parse

MAX_DEPTH = 4
_ANSI = re.compile(r"\x1b\[[0-9;]*[A-Za-z]")
_ARCHIVES = (b"\x1f\x8b", b"BZh", b"\xfd7zXZ", b"7z\xbc\xaf", b"Rar!", b"\x28\xb5\x2f\xfd")
# Pictures and fonts: they hold no text that a student could paste.
_PICTURES = (b"\x89PNG", b"\xff\xd8\xff", b"GIF8", b"RIFF", b"wOF2", b"wOFF", b"\x00\x01\x00\x00", b"OTTO")
_SHORTEST = 16  # characters; a shorter string can hold nothing that is looked for


class Unreadable(Exception):
    """A member that cannot be looked into, so that nobody can say what it gives away; completes a sentence."""


@dataclass(frozen=True, slots=True)
class Piece:
    """A text within a file.  ``file`` reads ``wheels/kit.whl!autograder/pool.py``.

    ``place`` is a notebook's cell or a key of a JSON or TOML document, and is empty for the file's own text.
    ``first`` is the line of the file that the text begins in.
    """

    file: str
    place: str
    text: str
    first: int = 1

    def locate(self, line: int) -> str:
        """The file and place of one line of the text."""
        if self.place and self.place.startswith("cell"):
            return f"{self.file}, {self.place}, line {line}"
        if self.place:
            return f"{self.file}, {self.place}"
        return f"{self.file}, line {self.first + line - 1}"


def members(name: str, data: bytes, depth: int = 0) -> Iterator[tuple[str, bytes]]:
    """A file and, if it is a zip, all that lies in it, as (name, bytes).

    Raises:
        Unreadable: an archive that cannot be opened here.
    """
    yield name, data
    if data.startswith(_ARCHIVES) or data[257:262] == b"ustar":
        raise Unreadable(f"{name} is an archive that is no zip")
    if not zipfile.is_zipfile(io.BytesIO(data)):
        return
    if depth == MAX_DEPTH:
        raise Unreadable(f"{name} lies more than {MAX_DEPTH} zips deep")
    try:
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            for info in archive.infolist():
                if not info.is_dir():
                    yield from members(f"{name}!{info.filename}", archive.read(info), depth + 1)
    except (zipfile.BadZipFile, RuntimeError, NotImplementedError, ValueError, EOFError, OSError) as error:
        raise Unreadable(f"{name} is a zip that cannot be opened ({error})") from None


def pieces(name: str, data: bytes) -> Iterator[Piece]:
    """Every text in one member; zips give none, since their members come by themselves.

    Raises:
        Unreadable: neither text nor picture nor zip.
    """
    if not data or zipfile.is_zipfile(io.BytesIO(data)) or data.startswith(_PICTURES):
        return
    text = _decode(name, data)
    yield Piece(name, "", text)
    if "&" in text and (plain := html.unescape(text)) != text:
        yield Piece(name, "", plain)
    if "\\n" in text:
        yield Piece(name, "", text.replace("\\n", "\n").replace('\\"', '"'))
    if name.endswith(".py"):
        yield from _strings_of_python(name, text)
    elif document := _document(name, text):
        yield from _strings_of_document(name, document)


def mappings(name: str, text: str) -> Iterator[Mapping[str, Any]]:
    """Every table of a JSON or TOML document, and every literal dictionary of Python."""
    if name.endswith(".py"):
        for node in (part for statement in parse(text) or [] for part in ast.walk(statement)):
            if isinstance(node, ast.Dict):
                yield {
                    str(item.value): _literal(value)
                    for item, value in zip(node.keys, node.values, strict=True)
                    if isinstance(item, ast.Constant)
                }
            elif isinstance(node, ast.Call) and node.keywords:
                yield {item.arg: _literal(item.value) for item in node.keywords if item.arg}
    else:
        yield from _tables(_document(name, text))


def _literal(node: ast.expr) -> Any:
    try:
        return ast.literal_eval(node)
    except (ValueError, TypeError, SyntaxError, RecursionError, MemoryError):
        return None


def _tables(value: Any) -> Iterator[Mapping[str, Any]]:
    if isinstance(value, dict):
        yield value
        value = list(value.values())
    if isinstance(value, list):
        for item in value:
            yield from _tables(item)


def _decode(name: str, data: bytes) -> str:
    try:
        if data.startswith((b"\xff\xfe", b"\xfe\xff")):
            return data.decode("utf-16")
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError:
        text = "\0"
    if "\0" in text:
        raise Unreadable(f"{name} is neither text nor a picture")
    return text.replace("\r\n", "\n").replace("\r", "\n")


def _document(name: str, text: str) -> Any:
    try:
        if name.endswith(".toml"):
            return tomllib.loads(text)
        if text.lstrip().startswith(("{", "[")):
            return json.loads(text)
    except (ValueError, RecursionError):
        return None
    return None


def _strings_of_python(name: str, text: str) -> Iterator[Piece]:
    for statement in parse(text) or []:
        for node in ast.walk(statement):
            if isinstance(node, ast.Constant) and isinstance(node.value, str) and len(node.value) >= _SHORTEST:
                yield Piece(name, "", node.value, node.lineno)


def _strings_of_document(name: str, document: Any) -> Iterator[Piece]:
    """All strings of a JSON or TOML document; a notebook's go by cells, with sources and outputs joined."""
    cells = document.get("cells") if isinstance(document, dict) else None
    if not isinstance(cells, list):
        yield from _walk(name, document, "")
        return
    for number, cell in enumerate(cells, 1):
        if not isinstance(cell, dict):
            continue
        source = {key: value for key, value in cell.items() if key != "outputs"}
        yield from _walk(name, source, f"cell {number}", keyless=True)
        outputs = cell.get("outputs")
        for output_number, output in enumerate(outputs if isinstance(outputs, list) else (), 1):
            yield from _walk(name, output, f"cell {number}, output {output_number}", keyless=True)
    rest = {key: value for key, value in document.items() if key != "cells"}
    yield from _walk(name, rest, "")


def _walk(name: str, value: Any, place: str, keyless: bool = False) -> Iterator[Piece]:
    if isinstance(value, str):
        text = _ANSI.sub("", value)
        if len(text) >= _SHORTEST:
            yield Piece(name, place, text)
    elif isinstance(value, list):
        if value and all(isinstance(item, str) for item in value):
            # nbformat's lists of lines keep their line ends; lists of strings in other documents have none.
            lines = "".join(value) if any(item.endswith("\n") for item in value) else "\n".join(value)
            yield from _walk(name, lines, place, keyless)
        else:
            for item in value:
                yield from _walk(name, item, place, keyless)
    elif isinstance(value, dict):
        for inner, item in value.items():
            below = place if keyless else f"{place}.{inner}" if place else f"key {inner}"
            yield from _walk(name, item, below, keyless)
