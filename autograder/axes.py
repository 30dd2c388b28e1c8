"""The axes of an exercise's outputs, as its exercise.toml tells them: what messages and pictures call a place.

Standard library only.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType

from autograder.errors import CourseError
from autograder.toml_table import Table

_NOUN = re.compile(r"[A-Za-z][A-Za-z -]{0,23}")


@dataclass(frozen=True, slots=True)
class Axis:
    """One dimension of an output: ``of`` is what one index of it is called, such as ``row``.

    ``tile`` is what a block of them is called, such as ``query tile``, and ``by`` the key of a case that holds the
    block's size; both are empty where the axis has no tiles.
    """

    of: str
    tile: str = ""
    by: str = ""

    def block(self, case: Mapping[str, object]) -> int:
        """The size of a tile in this case; 0 if there are none."""
        size = case.get(self.by) if self.by else None
        return size if isinstance(size, int) and not isinstance(size, bool) and size > 0 else 0


def plural(noun: str) -> str:
    """``queries`` of ``query``, ``batches`` of ``batch``, ``query tiles`` of ``query tile``."""
    if re.search(r"[^aeiou]y$", noun):
        return f"{noun[:-1]}ies"
    return f"{noun}es" if re.search(r"(?:s|x|z|ch|sh)$", noun) else f"{noun}s"


def read_axes(table: Table, outputs: Mapping[str, str]) -> Mapping[str, tuple[Axis, ...]]:
    """The ``[axes]`` of an exercise, by output; an output that is not in it is told of by its indices alone.

    Raises:
        CourseError: an output that is not compared, or an axis that is not described as it should be.
    """
    entry = table.table("axes", {})
    axes = {}
    for name in entry.names():
        if name not in outputs:
            raise CourseError(f"{entry.where}: {name!r} is none of the outputs in [compare].")
        axes[name] = tuple(_axis(item) for item in entry.tables(name))
        if not axes[name]:
            raise CourseError(f"{entry.where}: {name!r} has no axes. Leave it out, or describe each of them.")
    entry.finish()
    return MappingProxyType(axes)


def _axis(entry: Table) -> Axis:
    axis = Axis(entry.text("of"), entry.text("tile", ""), entry.text("by", ""))
    entry.finish()
    for key, noun in (("of", axis.of), ("tile", axis.tile)):
        if (noun or key == "of") and not _NOUN.fullmatch(noun):
            raise CourseError(f'{entry.where}: {key!r} is {noun!r}, and must be a short noun, such as "row".')
    if bool(axis.tile) != bool(axis.by):
        raise CourseError(
            f"{entry.where}: 'tile' and 'by' go together: what a tile is called, and the key of the case with its size."
        )
    return axis
