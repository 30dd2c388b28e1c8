"""Gradescope's export: ``submission_<id>/`` folders, and a file that says whose they are and when they came."""

from __future__ import annotations

import re
from collections.abc import Mapping
from datetime import datetime

from autograder.bulk.collect._listing import Listing
from autograder.bulk.collect._metadata import Submitted, Submitter, read_metadata
from autograder.bulk.collect._model import Attempt, File, Handed, Placed, Reading, Top
from autograder.handin._limits import Refused
from autograder.handin._names import show
from autograder.handin._zip import ZIP_TROUBLE

_METADATA = ("submission_metadata.yml", "submission_metadata.yaml")
_SUBMISSION = re.compile(r"submission_(?P<id>[0-9]{1,32})")


def read_gradescope(listing: Listing) -> Reading | None:
    """The students, if there is Gradescope's file, or folders named as Gradescope names them."""
    tops = listing.tops()
    named = [top.files[0] for top in tops if not top.is_folder and top.name in _METADATA]
    metadata = min(named, key=lambda file: file.problem is not None, default=None)
    if metadata is None and not any(top.is_folder and _SUBMISSION.fullmatch(top.name) for top in tops):
        return None
    known, notes = _known(metadata)
    folders: dict[str, Top] = {}
    unknown = []
    for top in tops:
        if top.name in known or (top.is_folder and _SUBMISSION.fullmatch(top.name)):
            folders[top.name] = top
        elif top.files[:1] != (metadata,):
            unknown.append(show(top.name))
    students: dict[str, Handed] = {}
    for name in sorted({*folders, *known}):
        for handed in _submission(name, folders.get(name), known.get(name, Submitted())):
            earlier = students.get(handed.key)
            students[handed.key] = handed if earlier is None else _merged(earlier, handed)
    return Reading("gradescope", tuple(students.values()), tuple(unknown), notes)


def _known(metadata: File | None) -> tuple[Mapping[str, Submitted], tuple[str, ...]]:
    lost = "so that students are named after their submissions and times are not known."
    if metadata is None:
        return {}, (f"There is no {_METADATA[0]} in the download, {lost}",)
    try:
        if metadata.problem is not None:
            raise Refused(metadata.problem)
        with metadata.open() as stream:
            found = read_metadata(stream)
    except Refused as refused:
        return {}, (f"{metadata.shown} {refused.reason}, {lost}",)
    except ZIP_TROUBLE:
        return {}, (f"{metadata.shown} could not be read, {lost}",)
    if not found:
        return {}, (f"{metadata.shown} names no submission, {lost}",)
    return found, ()


def _submission(name: str, top: Top | None, submitted: Submitted) -> list[Handed]:
    """One student for each submitter: each member of a group gets the hand-in."""
    match = _SUBMISSION.fullmatch(name)
    lms_id = match["id"] if match else name
    files = tuple(Placed(file.parts[1:] or file.parts, file) for file in top.files) if top is not None else ()
    attempt = Attempt(files, submitted.created_at.timestamp() if submitted.created_at else None, (name,))
    notes = () if top is not None else (f"The download holds no folder {show(name)}.",)
    if len(submitted.submitters) > 1:
        notes = (*notes, f"Handed in by a group of {len(submitted.submitters)}.")
    if not submitted.submitters:
        unnamed = "Gradescope's list does not say whose this is."
        return [_handed(Submitter(), lms_id, attempt, submitted.created_at, (*notes, unnamed))]
    return [_handed(who, lms_id, attempt, submitted.created_at, notes) for who in submitted.submitters]


def _handed(
    who: Submitter, lms_id: str, attempt: Attempt, submitted: datetime | None, notes: tuple[str, ...]
) -> Handed:
    # A submission that is handed in again has another id, a person has not.
    lasting = who.sid or who.email
    return Handed(
        key=f"gradescope:{lasting}" if lasting else f"gradescope:submission:{lms_id}:{who.name}",
        label=who.name or ("student" if lasting else "submission"),
        tail=lasting or lms_id,
        name=who.name,
        lms_id=lms_id,
        submitted=submitted,
        attempts=(attempt,),
        notes=notes,
    )


def _merged(one: Handed, other: Handed) -> Handed:
    """Two submissions of one student: the later one counts."""
    first, last = sorted((one, other), key=lambda handed: handed.attempts[-1].order or 0)
    return Handed(
        key=last.key,
        label=last.label,
        tail=last.tail,
        name=last.name,
        lms_id=last.lms_id,
        submitted=last.submitted,
        attempts=(*first.attempts, *last.attempts),
        notes=last.notes,
    )
