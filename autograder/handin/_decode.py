"""Bytes of a file -> text: UTF-8, or the encoding of a byte order mark; coding lines are ignored."""

from __future__ import annotations

import codecs

from autograder.handin._limits import Refused
from autograder.handin._model import split_lines

# UTF-32 first: its little-endian mark begins with that of UTF-16.
_MARKS = (
    (codecs.BOM_UTF32_LE, "utf-32-le", "UTF-32"),
    (codecs.BOM_UTF32_BE, "utf-32-be", "UTF-32"),
    (codecs.BOM_UTF8, "utf-8", "UTF-8"),
    (codecs.BOM_UTF16_LE, "utf-16-le", "UTF-16"),
    (codecs.BOM_UTF16_BE, "utf-16-be", "UTF-16"),
)


def decode(data: bytes) -> str:
    """The text, line ends as they are; raises Refused with the line of the first bad byte."""
    body, codec, title = _encoding(data)
    try:
        return body.decode(codec)
    except UnicodeDecodeError as error:
        before = body[: error.start].decode(codec, errors="ignore")
        line = len(split_lines(before + "?"))
        what = f"byte 0x{body[error.start]:02x} in line {line}"
        rough = body.decode(codec, errors="replace")
        raise Refused(f"is not {title} text ({what}); save it as UTF-8", line, rough) from None


def read_text(data: bytes) -> str | None:
    """The text, with a replacement for each byte that is none; None if a zero byte says that it is no text."""
    try:
        text = decode(data)
    except Refused as refused:
        text = refused.text or ""
    return text if "\0" not in text and (text or not data) else None


def _encoding(data: bytes) -> tuple[bytes, str, str]:
    for mark, codec, title in _MARKS:
        if data.startswith(mark):
            return data[len(mark) :], codec, title
    return data, "utf-8", "UTF-8"
