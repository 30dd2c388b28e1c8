"""Ids of students: the names of their folders, safe on every file system and no two the same."""

from __future__ import annotations

import hashlib
import unicodedata
from collections.abc import Mapping

from autograder.bulk.collect._limits import MAX_ID_BYTES

_SEPARATORS = frozenset('<>:"/\\|?*')
_DROPPED = frozenset({"Cf", "Cs", "Co", "Cn"})
_DEVICES = frozenset({"con", "prn", "aux", "nul", *(f"{port}{n}" for port in ("com", "lpt") for n in range(10))})
_MAX_TAIL_BYTES = 48
_HASH = 8


def safe_text(text: str) -> str:
    """A name with nothing in it that a file system or a terminal takes for more than a letter; may be empty."""
    kept = (_safe_character(character) for character in unicodedata.normalize("NFC", text))
    return unicodedata.normalize("NFC", " ".join("".join(kept).split())).lstrip(" .-~").rstrip(" .")


def _safe_character(character: str) -> str:
    if character.isspace():
        return " "
    category = unicodedata.category(character)
    if category in _DROPPED:
        return ""
    return "_" if category == "Cc" or character in _SEPARATORS else character


class Ids:
    """Gives each student one id, the same in every run: ``known`` are the ids of earlier runs by their keys."""

    def __init__(self, known: Mapping[str, str]) -> None:
        self._known = dict(known)
        self._taken = {_folded(student) for student in known.values()}

    def give(self, key: str, name: str, tail: str) -> str:
        """``Jane Doe_123`` for the name and the tail 123; ids differ in more than upper and lower case."""
        if key not in self._known:
            student = self._new(key, name, tail)
            self._known[key] = student
            self._taken.add(_folded(student))
        return self._known[key]

    def _new(self, key: str, name: str, tail: str) -> str:
        last, ending = _cut(safe_text(tail), _MAX_TAIL_BYTES), ""
        if last:
            ending = f"_{last}"
        first = safe_text(name)
        short = _cut(first, MAX_ID_BYTES - len(ending.encode()) - _HASH - 1)
        student = (short or "student") + ending
        cut = short != first or last != safe_text(tail)
        if cut or not short + ending or student.partition(".")[0].lower() in _DEVICES or self._is_taken(student):
            digest = hashlib.sha256(key.encode("utf-8", "surrogatepass")).hexdigest()
            # 32 bits, and more if a class is made to collide in them.
            length = next(n for n in range(_HASH, len(digest) + 1) if not self._is_taken(f"{student}-{digest[:n]}"))
            student = f"{student}-{digest[:length]}"
        return student

    def _is_taken(self, student: str) -> bool:
        return _folded(student) in self._taken


def _folded(student: str) -> str:
    return unicodedata.normalize("NFC", student.casefold())


def _cut(text: str, size: int) -> str:
    """At most ``size`` bytes of UTF-8, and no half of a character."""
    return text.encode()[:size].decode(errors="ignore").rstrip(" .")
