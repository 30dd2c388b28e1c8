"""Gradescope's submission_metadata.yml: who handed in which folder, and when.

A reader of the few keys that are needed, not of YAML: the file is as Gradescope's Ruby writes it, a mapping by
submission with one key a line, and everything deeper (test output, history) is passed over.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import BinaryIO

from autograder.bulk.collect._limits import MAX_METADATA_BYTES
from autograder.handin._limits import Refused

_LONGEST_LINE = 1 << 16
_KEY = re.compile(r"(?P<indent> *)(?P<item>- +)?(?P<key>\"[^\"]*\"|'[^']*'|:?[^\s:'\"][^:]*):(?:\s+(?P<value>.*))?")
_TIME = re.compile(
    r"(?P<date>[0-9]{4}-[0-9]{2}-[0-9]{2})[Tt ]\s*(?P<time>[0-9]{2}:[0-9]{2}:[0-9]{2})(?:\.(?P<part>[0-9]+))?"
    r"\s*(?P<zone>Z|UTC|[+-][0-9]{2}:?[0-9]{2})"
)
_ESCAPE = re.compile(r"\\(?:x([0-9A-Fa-f]{2})|u([0-9A-Fa-f]{4})|U([0-9A-Fa-f]{8})|(.))")
_LETTERS = {"n": "\n", "t": "\t", "r": "\r", "e": "\x1b", "0": "\0", "a": "\a", "b": "\b", "f": "\f", "v": "\v"}


@dataclass(slots=True)
class Submitter:
    """One person; what is not known is empty."""

    name: str = ""
    sid: str = ""
    email: str = ""


@dataclass(slots=True)
class Submitted:
    """One submission: a group has several submitters."""

    submitters: list[Submitter] = field(default_factory=list)
    created_at: datetime | None = None


def read_metadata(stream: BinaryIO) -> Mapping[str, Submitted]:
    """The submissions by the names of their folders.

    Raises:
        Refused: the file is far too long.
    """
    found: dict[str, Submitted] = {}
    current: Submitted | None = None
    section, base = "", 0
    for line in _lines(stream):
        match = _KEY.fullmatch(line)
        if match is None:
            continue
        indent, key, value = len(match["indent"]), _scalar(match["key"]).lstrip(":"), match["value"] or ""
        if indent == 0 and not match["item"]:
            current = found.setdefault(key, Submitted())
            section, base = "", 0
        elif current is None:
            continue
        elif not match["item"] and (base == 0 or indent <= base):
            base = base or indent
            section = key
            if key == "created_at":
                current.created_at = read_time(_scalar(value))
        elif section == "submitters":
            _add_to_submitters(current.submitters, bool(match["item"]), key, _scalar(value))
        elif section == "created_at" and key == "utc" and current.created_at is None:
            current.created_at = read_time(_scalar(value))  # a time with the zone's rules, as Rails writes it
    return found


def _add_to_submitters(submitters: list[Submitter], starts: bool, key: str, value: str) -> None:
    if starts:
        submitters.append(Submitter())
    if not submitters:
        return
    if key == "name":
        submitters[-1].name = value
    elif key == "sid":
        submitters[-1].sid = value
    elif key == "email":
        submitters[-1].email = value


def _lines(stream: BinaryIO) -> Iterator[str]:
    """The lines that are no longer than any that matters."""
    total, continues = 0, False
    while data := stream.readline(_LONGEST_LINE):
        total += len(data)
        if total > MAX_METADATA_BYTES:
            raise Refused(f"was not read: it is over {MAX_METADATA_BYTES // 1_000_000} MB")
        whole = data.endswith(b"\n")
        if not continues and (whole or len(data) < _LONGEST_LINE):
            yield data.decode("utf-8", "replace").removeprefix("\ufeff").rstrip("\r\n")
        continues = not whole


def _scalar(text: str) -> str:
    """A plain, 'single' or "double" quoted value; null is empty."""
    text = re.sub(r"^&\S+\s+", "", text.strip())
    if len(text) > 1 and text[0] == text[-1] == "'":
        return text[1:-1].replace("''", "'")
    if len(text) > 1 and text[0] == text[-1] == '"':
        return _ESCAPE.sub(_unescaped, text[1:-1])
    text = re.sub(r"\s+#.*", "", text)
    return "" if text in {"~", "null"} or text[:1] in {"|", ">", "*", "!"} else text


def _unescaped(match: re.Match[str]) -> str:
    if match[4] is not None:
        return _LETTERS.get(match[4], match[4])
    code = int(match[1] or match[2] or match[3], 16)
    return chr(code) if code < 0x110000 else "\ufffd"


def read_time(text: str) -> datetime | None:
    """A time with its zone, as ISO 8601 or as Ruby writes it; None if there is no zone."""
    match = _TIME.fullmatch(text.strip())
    if match is None:
        return None
    part = ((match["part"] or "") + "000000")[:6]
    zone = "+00:00" if match["zone"] in {"Z", "UTC"} else match["zone"]
    try:
        return datetime.fromisoformat(f"{match['date']}T{match['time']}.{part}{zone}")
    except ValueError:
        return None
