"""What the search hands on: pairs of files, and what was not compared."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Side:
    """One student's file of a pair; ``passages`` are the shared lines, each with its place and its text.

    A place is empty where lines between are left out.
    """

    student: str
    path: str
    passages: tuple[tuple[str, str], ...]


@dataclass(frozen=True, slots=True)
class Pair:
    """Two files for one stub, such as ``lesson7/flash_attention.py``.

    ``share`` is the part of the smaller one's own text that is in the other one too, between 0 and 1.
    """

    stub: str
    share: float
    one: Side
    other: Side


@dataclass(frozen=True, slots=True)
class Similar:
    """The pairs, the largest share first.

    ``compared`` files had enough text of their own, ``small`` had some and too little, ``bare`` had none, as untouched
    stubs; ``unread`` are students whose hand-in could not
    be read, and files that are far too long.
    """

    pairs: tuple[Pair, ...]
    compared: int
    small: int
    bare: int
    unread: tuple[str, ...]
