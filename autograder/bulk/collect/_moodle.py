"""Moodle: ``Full Name_<participantid>_assignsubmission_file_/``, and the same as the beginning of flat file names.

From 4.1 on there is no last underscore.  Other plugins than ``file`` have folders of their own: ``onlinetext`` is what
students typed.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from autograder.bulk.collect._listing import Listing
from autograder.bulk.collect._model import Attempt, Handed, Parts, Placed, Reading, Top
from autograder.handin._names import show

_NAMED = re.compile(
    r"(?P<name>.{0,200}?)_(?P<id>[0-9]{1,32})_assignsubmission_(?P<plugin>[a-z][a-z0-9]{0,63})(?:_(?P<file>.*))?",
    re.DOTALL,
)
_ANONYMOUS = "participant"  # Moodle's word for everyone where identities are hidden
_TYPED_NOTE = "Typed into Moodle instead of handed in as a file; that is not graded."


@dataclass(slots=True)
class _Found:
    """What is known of a student after some entries."""

    name: str
    id: str
    files: list[Placed]
    names: list[str]
    typed: bool = False


def read_moodle(listing: Listing) -> Reading | None:
    """The students, if any entry is named as Moodle names them."""
    students: dict[str, _Found] = {}
    unknown = []
    for top in listing.tops():
        match = _NAMED.fullmatch(top.name)
        if match is None or top.is_folder == bool(match["file"]):
            unknown.append(show(top.name))
            continue
        found = students.setdefault(match["id"], _Found(match["name"], match["id"], [], []))
        found.names.append(top.name)
        found.typed = found.typed or match["plugin"] == "onlinetext"
        # A student's own onlinetext.html must not meet the typed one.
        above = () if match["plugin"] == "file" else (f"assignsubmission_{match['plugin']}",)
        found.files += _placed(top, above, match["file"])
    if not students:
        return None
    return Reading("moodle", tuple(_handed(found) for found in students.values()), tuple(unknown))


def _placed(top: Top, above: Parts, flat: str | None) -> list[Placed]:
    if flat:
        return [Placed((*above, flat), top.files[0])]
    return [Placed((*above, *file.parts[1:]), file) for file in top.files]


def _handed(found: _Found) -> Handed:
    anonymous = found.name.casefold() == _ANONYMOUS
    return Handed(
        key=f"moodle:{found.id}",
        label="anon" if anonymous else found.name,
        tail=found.id,
        name="" if anonymous else found.name,
        lms_id=found.id,
        attempts=(Attempt(tuple(found.files), names=tuple(found.names)),),
        notes=(_TYPED_NOTE,) if found.typed else (),
    )
