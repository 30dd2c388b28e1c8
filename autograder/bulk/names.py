"""Names of students: whether two can be of one person, as different systems write them, and lists of them."""

from __future__ import annotations

import unicodedata
from collections.abc import Callable, Sequence

_TELLING = 3  # letters; shorter words are found in many names


def all_of(names: Sequence[str]) -> str:
    """``Jane Doe, Rob Roe``; ``Doe, Jane; Roe, Rob`` where names have commas themselves."""
    return ("; " if any("," in name for name in names) else ", ").join(names)


def a_few(names: Sequence[str]) -> str:
    """``a, b, c and 7 more``."""
    return ", ".join(names[:3]) + (f" and {len(names) - 3} more" if len(names) > 3 else "")


def folded(name: str) -> str:
    """A name for comparison: 'Doe, Jane' and 'jane doe' are the same."""
    family, comma, given = name.partition(",")
    text = f"{given} {family}" if comma else name
    return " ".join(text.casefold().split())


def same_name(one: str, other: str) -> bool:
    """Whether both have the same words in the same circle: 'Jane Doe', 'Doe, Jane' and Canvas's 'doejane'."""
    return any(_turns(spell(one)) & _turns(spell(other)) for spell in _SPELLINGS)


def contradict(one: str, other: str) -> bool:
    """Whether the names have nothing in common, no word and no part of one; an empty name contradicts nothing."""
    spelled = [(spell(one), spell(other)) for spell in _SPELLINGS]
    able = [pair for pair in spelled if all(_words(name) for name in pair)]
    return bool(able) and not any(_share(*pair) for pair in able)


def _share(one: str, other: str) -> bool:
    if _turns(one) & _turns(other) or set(_words(one)) & set(_words(other)):
        return True
    pairs = ((one, other), (other, one))
    return any(len(word) >= _TELLING and word in "".join(_words(text)) for name, text in pairs for word in _words(name))


def _words(name: str) -> list[str]:
    return "".join(character if character.isalnum() else " " for character in name).split()


def _turns(name: str) -> set[str]:
    """The words in one piece, begun at each of them."""
    words = _words(name)
    return {"".join(words[start:] + words[:start]) for start in range(len(words))}


def _plain(name: str) -> str:
    return unicodedata.normalize("NFC", name).casefold()


def _without_accents(name: str) -> str:
    apart = unicodedata.normalize("NFKD", name.casefold())
    return "".join(character for character in apart if not unicodedata.combining(character))


def _ascii_only(name: str) -> str:
    """As some systems name files: other letters are left out."""
    return _plain(name).encode("ascii", "ignore").decode()


_SPELLINGS: tuple[Callable[[str], str], ...] = (_plain, _without_accents, _ascii_only)
