"""A table that becomes a CSV: rows of text, who is not in it, and what the instructor should know."""

from __future__ import annotations

import csv
import io
from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Sheet:
    """``left_out`` holds a sentence for each student who should be in the table and is not."""

    rows: tuple[tuple[str, ...], ...]
    left_out: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()


def csv_text(rows: Sequence[Sequence[str]]) -> str:
    """The rows as CSV."""
    text = io.StringIO()
    csv.writer(text, lineterminator="\n").writerows(rows)
    return text.getvalue()


def csv_bytes(text: str, excel: bool = False) -> bytes:
    """A CSV in UTF-8; Excel shows accents only with ``excel``, a byte order mark in front."""
    return text.encode("utf-8-sig" if excel else "utf-8", "replace")
