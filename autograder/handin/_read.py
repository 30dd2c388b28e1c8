"""The way in: a path from the command line -> a HandIn."""

from __future__ import annotations

import os
import stat
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path

from autograder.errors import HandInError
from autograder.handin._choose import Chooser
from autograder.handin._folder import list_folder, open_regular
from autograder.handin._gather import Gatherer
from autograder.handin._items import Item, Sieve
from autograder.handin._limits import MAX_FILES, Notes
from autograder.handin._model import HandIn, Place, Source, defined_names
from autograder.handin._names import a_few, is_archive, kind_of, lesson_of, show

_LOOKED_AT = 1_000_000  # characters of %%exercise cells; those after them are taken for worked on
_NONE: frozenset[str] = frozenset()
_WHAT = "Hand in the lesson folders, a .py, an .ipynb or a .zip."


def read_handin(
    path: Path,
    places: Sequence[Place],
    names: Mapping[Place, frozenset[str]],
    started: Callable[[Place, str], bool],
) -> HandIn:
    """Find the sources for ``places`` in the file, folder, notebook or zip at ``path``.

    ``names`` are the functions expected in each place's file; ``started(place, text)`` is False for the
    pristine stub. Nothing is imported or run, and only regular files inside the hand-in are read; ``path``
    itself may be a link. Raises HandInError if it does not exist or holds no readable file at all.
    """
    real = _resolve(path)
    sieve = Sieve(Notes())

    left = _LOOKED_AT

    def begun(cell: str) -> bool:
        nonlocal left
        defined = defined_names(cell)
        wanted_here = [place for place in places if not defined.isdisjoint(names.get(place, _NONE))]
        left -= len(cell) * len(wanted_here)
        return bool(wanted_here) and (left < 0 or any(started(place, cell) for place in wanted_here))

    gatherer = Gatherer(frozenset(place.file.lower() for place in places), sieve, begun)
    gatherer.take(_items(path, real, gatherer), 0, _hint(real))
    sieve.finish()

    chooser = Chooser(gatherer.found, places, names, started)
    sources: dict[Place, Source] = {}
    choices: list[str] = []
    for place in places:
        if (choice := chooser.choose(place)) is not None:
            sources[place], sentence = choice
            choices += [sentence] if sentence else []
    _note_leftovers(gatherer, sources, sieve.notes)
    if not sources and all(found.source.text is None for found in gatherer.found):
        raise HandInError(_nothing(path, sieve.notes))
    return HandIn(show(str(path)), sources, (*choices, *sieve.notes.all()))


def _resolve(path: Path) -> Path:
    """The path without links: the user who names it may use them, the hand-in may not."""
    try:
        return path.resolve(strict=True)
    except (OSError, RuntimeError, ValueError):
        raise HandInError(f"There is no file or folder {show(str(path))}. {_WHAT}") from None


def _items(path: Path, real: Path, gatherer: Gatherer) -> list[Item]:
    try:
        mode = os.stat(real).st_mode
    except OSError:
        raise HandInError(f"There is no file or folder {show(str(path))}. {_WHAT}") from None
    if stat.S_ISDIR(mode):
        return list_folder(real, gatherer.sieve, gatherer.budget)
    if not stat.S_ISREG(mode):
        raise HandInError(f"{show(str(path))} is neither a file nor a folder. {_WHAT}")
    name = path.name if kind_of(path.name) else real.name
    kind = kind_of(name)
    if kind is None:
        told = "is an archive but not a zip" if is_archive(name) else "is not a .py, .ipynb or .zip"
        raise HandInError(f"{show(str(path))} {told}. {_WHAT}")
    return [Item(show(name), (), name, kind, 0, True, partial(open_regular, str(real)))]


def _hint(real: Path) -> int | None:
    """The lesson that the folder, or the folder of the file, is named after."""
    return lesson_of(real.name if real.is_dir() else real.parent.name)


def _note_leftovers(gatherer: Gatherer, sources: Mapping[Place, Source], notes: Notes) -> None:
    """Name what was refused and is nobody's source, and say so if what was read serves no place."""
    used = {source.path for source in sources.values()}
    for found in gatherer.found:
        if found.source.problem is not None and found.source.path not in used:
            notes.add(found.source.problem)
    readable = [found.source.path for found in gatherer.found if found.source.text is not None]
    if readable and not sources:
        files = a_few(readable)
        notes.add(f"Nothing to grade in {files}: neither a wanted name nor a function that is graded.")
    if gatherer.unread:
        files = a_few(gatherer.unread)
        notes.add(f"Not read, as the hand-in has more than {MAX_FILES} files: {files}.")


def _nothing(path: Path, notes: Notes) -> str:
    reason = next(iter(notes.sentences), _WHAT)
    return f"There is no readable .py or notebook in {show(str(path))}. {reason}"
