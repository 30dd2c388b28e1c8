"""Plain folders: one folder or file a student, whose name is the id."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from autograder.bulk.collect._listing import Listing
from autograder.bulk.collect._model import Attempt, File, Handed, Placed, Reading
from autograder.handin._folder import LINK
from autograder.handin._names import a_few, is_archive, kind_of, show


def read_plain(listing: Listing) -> Reading:
    """A student for each folder, notebook, .py and archive; ``jane.py`` and ``jane.zip`` are of one student."""
    students: dict[str, tuple[list[Placed], list[str]]] = {}
    shared: dict[str, list[str]] = {}
    unknown = []
    for top in listing.tops():
        if not top.is_folder and not _is_handed_in(top.name, top.files[0]):
            unknown.append(show(top.name))
            continue
        name = top.name if top.is_folder else _stem(top.name)
        files, names = students.setdefault(name, ([], []))
        files += (Placed(file.parts[1:] if top.is_folder else file.parts, file) for file in top.files)
        names.append(top.name)
        shared.setdefault(name, []).append(show(top.name) + "/" * top.is_folder)
    handed = (
        Handed(f"folder:{name}", name, "", attempts=(Attempt(tuple(files), names=tuple(names)),))
        for name, (files, names) in students.items()
    )
    return Reading("folder", tuple(handed), tuple(unknown), (*_together(shared), *_hidden(listing)))


def _together(entries: Mapping[str, Sequence[str]]) -> tuple[str, ...]:
    """A sentence if several entries became one student's: it may be that somebody handed in twice."""
    several = [f"{show(name)} ({' and '.join(names)})" for name, names in sorted(entries.items()) if len(names) > 1]
    return (f"Taken together, since their names are one: {a_few(several)}.",) if several else ()


def _hidden(listing: Listing) -> tuple[str, ...]:
    """A sentence if something was passed over that may be somebody's."""
    names = [show(parts[0]) for parts in sorted(listing.hidden) if len(parts) == 1]
    if not names:
        return ()
    return (f"Left out, since names that begin with a dot are passed over: {a_few(names)}. Rename what is a hand-in.",)


def _is_handed_in(name: str, file: File) -> bool:
    """A link may have been meant as a student's folder: the student is to have a result that says so."""
    return kind_of(name) is not None or is_archive(name) or file.problem == LINK


def _stem(name: str) -> str:
    stem = name
    while (kind_of(stem) is not None or is_archive(stem)) and "." in stem[1:]:
        stem = stem.rpartition(".")[0]
    return stem
