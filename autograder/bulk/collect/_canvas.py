"""Canvas: ``<sortablename>[_LATE]_<userid>_<attachmentid>_<file>``, and what students typed as ``..._text.html``.

The names are made by Canvas's ContentZipper; anonymous ones are ``[LATE_]anon_<id>_<attachmentid>_<file>``.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from autograder.bulk.collect._listing import Listing
from autograder.bulk.collect._model import Attempt, File, Handed, Placed, Reading
from autograder.handin._names import a_few, show

_WHO = (
    r"(?:(?P<late1>LATE_)?anon_(?P<late2>LATE_)?(?P<anon>[0-9A-Za-z]{1,64})"
    r"|(?P<name>.{0,200}?)_(?P<late3>LATE_)?(?P<user>[0-9]{1,32}))"
)
_UPLOADED = re.compile(_WHO + r"_(?P<attachment>[0-9]{1,32})_(?P<file>.+)", re.DOTALL)
_TYPED = re.compile(_WHO + r"_(?P<file>(?:text|link)\.html)", re.DOTALL)
_NUMBERED = re.compile(r"(?P<stem>.+)-(?P<number>[0-9]{1,4})(?P<ending>\.[^.]*)?", re.DOTALL)
_TYPED_NOTE = "Typed into Canvas instead of handed in as a file, which is not graded: {}."


@dataclass(frozen=True, slots=True)
class _Entry:
    """One file, and what its name says; a typed text has no attachment id, which is 0."""

    key: str
    name: str
    lms_id: str
    anonymous: bool
    late: bool
    attachment: int
    file_name: str
    file: File


def read_canvas(listing: Listing) -> Reading | None:
    """The students, if at least half of the files are named as Canvas names them."""
    tops = listing.tops()
    entries = [entry for top in tops if not top.is_folder and (entry := _entry(top.files[0])) is not None]
    if not entries or 2 * len(entries) < len(tops):
        return None
    read = {entry.file.parts[0] for entry in entries}
    unknown = tuple(show(top.name) for top in tops if top.is_folder or top.name not in read)
    by_student: dict[str, list[_Entry]] = {}
    for entry in entries:
        by_student.setdefault(entry.key, []).append(entry)
    return Reading("canvas", tuple(_handed(group) for group in by_student.values()), unknown)


def _entry(file: File) -> _Entry | None:
    match = _UPLOADED.fullmatch(file.parts[0]) or _TYPED.fullmatch(file.parts[0])
    if match is None:
        return None
    found = match.groupdict()
    anonymous = found["anon"] is not None
    lms_id = found["anon"] if anonymous else found["user"]
    return _Entry(
        key=f"canvas:{'anon:' if anonymous else ''}{lms_id}",
        name="" if anonymous else found["name"],
        lms_id=lms_id,
        anonymous=anonymous,
        late=any(found[late] for late in ("late1", "late2", "late3")),
        attachment=int(found.get("attachment") or 0),
        file_name=found["file"],
        file=file,
    )


def _handed(entries: Sequence[_Entry]) -> Handed:
    latest = max(entries, key=lambda entry: entry.attachment)
    typed = [entry.file_name for entry in entries if entry.attachment == 0]
    return Handed(
        key=latest.key,
        label="anon" if latest.anonymous else latest.name,
        tail=latest.lms_id,
        name=latest.name,
        lms_id=latest.lms_id,
        late=latest.late,
        attempts=_attempts(entries),
        notes=(_TYPED_NOTE.format(a_few(typed)),) if typed else (),
    )


def _attempts(entries: Iterable[_Entry]) -> tuple[Attempt, ...]:
    """A file handed in again replaces its earlier version; the attempts before the last hold what was replaced."""
    versions = sorted(_versions(entries), key=lambda series: series[-1].attachment)
    count = max(len(series) for series in versions)
    attempts = []
    for back in reversed(range(count)):
        files = [series[-1 - back] for series in versions if back < len(series)]
        placed = tuple(Placed((entry.file_name,), entry.file) for entry in files)
        names = tuple(entry.file.parts[0] for entry in files)
        attempts.append(Attempt(placed, max(entry.attachment for entry in files), names))
    return tuple(attempts)


def _versions(entries: Iterable[_Entry]) -> list[list[_Entry]]:
    """The files, each with its earlier versions, oldest first.

    Canvas calls a file that is handed in again ``x-1.py``, then ``x-2.py``.  Without an ``x.py`` these are the names
    that the student gave: part-1.py and part-2.py are two files.
    """
    entries = list(entries)
    names = {entry.file_name for entry in entries}
    series: dict[str, list[_Entry]] = {}
    for entry in entries:
        series.setdefault(_base(entry.file_name, names), []).append(entry)
    return [sorted(group, key=lambda entry: (entry.attachment, entry.file_name)) for group in series.values()]


def _base(name: str, names: set[str]) -> str:
    match = _NUMBERED.fullmatch(name)
    plain = match["stem"] + (match["ending"] or "") if match else name
    return plain if plain in names else name
