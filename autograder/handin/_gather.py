"""Items of folders and zips -> texts: read within the limits, the wanted files first."""

from __future__ import annotations

import io
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import BinaryIO

from autograder.handin._decode import decode
from autograder.handin._items import Item, Sieve
from autograder.handin._limits import MAX_FILE_BYTES, MAX_ZIP_DEPTH, Budget, Refused
from autograder.handin._model import Source, defined_names
from autograder.handin._names import Kind, copy_name, explicit_lesson
from autograder.handin._notebook import read_notebook
from autograder.handin._zip import ZIP_TROUBLE, list_zip, open_zip


@dataclass(frozen=True, slots=True)
class Found:
    """A .py or notebook that was read or refused. ``hint``: the lesson its zip or root is named after."""

    source: Source
    folders: tuple[str, ...]
    name: str
    kind: Kind
    zip_depth: int
    hint: int | None
    defined: frozenset[str]


@dataclass(slots=True)
class Gatherer:
    """Reads items into ``found``; what cannot be read is named and costs nothing but itself.

    ``begun`` tells the text of a notebook's cell that somebody worked on from a stub.
    """

    wanted: frozenset[str]
    sieve: Sieve
    begun: Callable[[str], bool]
    budget: Budget = field(default_factory=Budget)
    found: list[Found] = field(default_factory=list)
    unread: list[str] = field(default_factory=list)

    def take(self, items: Iterable[Item], zip_depth: int, hint: int | None) -> None:
        """Read all items, and what is in the zips among them."""
        for item in sorted(items, key=self._urgency):
            if item.kind is Kind.ZIP:
                self._take_zip(item, zip_depth + 1, hint)
            else:
                self._take_file(item, zip_depth, hint)

    def _urgency(self, item: Item) -> tuple[int, str]:
        """Limits are spent on files with a wanted name, then notebooks, other .py, and zips last."""
        if item.kind is Kind.PYTHON:
            return (0 if self._is_wanted(item) else 2, item.shown)
        return (1 if item.kind is Kind.NOTEBOOK else 3, item.shown)

    def _is_wanted(self, item: Item) -> bool:
        return not self.wanted.isdisjoint({item.name.lower(), copy_name(item.name).plain.lower()})

    def _take_file(self, item: Item, zip_depth: int, hint: int | None) -> None:
        if not self.budget.files and not self._is_wanted(item):
            self.unread.append(item.shown)
            return
        try:
            data = self._read(item, MAX_FILE_BYTES if item.kind is Kind.PYTHON else None)
            source = _source(item, data, self.begun)
            defined = defined_names(source.text or "")
        except Refused as refused:
            source = Source(item.shown, None, f"{item.shown} {refused.reason}.", refused.line)
            defined = defined_names(refused.text)
        self.found.append(Found(source, item.folders, item.name, item.kind, zip_depth, hint, defined))

    def _take_zip(self, item: Item, zip_depth: int, hint: int | None) -> None:
        if zip_depth > MAX_ZIP_DEPTH:
            self.sieve.notes.add(f"{item.shown} was not opened: it lies more than three zips deep.")
            return
        named_after = explicit_lesson((*item.folders, item.name[: -len(Kind.ZIP.value)]))
        try:
            with self._zip_stream(item) as stream, open_zip(stream) as archive:
                self.budget.count_entries(len(archive.infolist()))
                entries = list_zip(archive, item.shown + "!", self.sieve)
                self.take(entries, zip_depth, hint if named_after is None else named_after)
        except Refused as refused:
            self.sieve.notes.add(f"{item.shown} {refused.reason}.")

    @contextmanager
    def _zip_stream(self, item: Item) -> Iterator[BinaryIO]:
        """A zip on disk is read where it is; one inside a zip has to be in memory, and counts as read."""
        if not item.on_disk:
            yield io.BytesIO(self._read(item, None))
            return
        _refuse_known_problem(item)
        self.budget.count_file()
        with item.open() as stream:
            yield stream

    def _read(self, item: Item, limit: int | None) -> bytes:
        _refuse_known_problem(item)
        self.budget.count_file()
        try:
            with item.open() as stream:
                return self.budget.read(stream, item.claimed_size, limit)
        except ZIP_TROUBLE:
            raise Refused("could not be read" if item.on_disk else "is damaged in the zip") from None


def _source(item: Item, data: bytes, begun: Callable[[str], bool]) -> Source:
    text = decode(data)
    if item.kind is Kind.PYTHON:
        return Source(item.shown, text, None, None)
    notebook = read_notebook(text, begun)
    return Source(item.shown, notebook.text, None, None, notebook.cells, notebook.answers)


def _refuse_known_problem(item: Item) -> None:
    if item.problem is not None:
        raise Refused(item.problem)
