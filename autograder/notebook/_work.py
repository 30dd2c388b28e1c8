"""A student's files: saved with what was there before kept, and copied to Google Drive where that is mounted."""

from __future__ import annotations

import os
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from autograder.catalogue import Course, Exercise, current_folder
from autograder.errors import CourseError, UsageError, ended
from autograder.handin import python_of_cell, read_text
from autograder.notebook._answer import Answer, back_to, functions_of, put_into, used_by
from autograder.notebook._versions import Versions
from autograder.plan import begun_in
from autograder.release.bundle import slug
from autograder.release.files import copy_aside, write_whole
from autograder.release.stubs import pristine_stubs, stub_files

DRIVE_SETTING = "AUTOGRADER_DRIVE"
_DRIVE = Path("/content/drive/MyDrive")  # where Colab mounts it
_UNDO = ".undo"  # hidden, so that no hand-in takes its files for work
_UNDONE = "undone"  # within it: what an undo took away
_VERSIONS = 50


@dataclass(frozen=True, slots=True)
class Saved:
    """What came of saving a cell: its answer, the file, and sentences about anything unusual.

    Without an answer the file was left as it is, and the notes say why.
    """

    answer: Answer | None
    path: Path
    changed: bool
    notes: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Stepped:
    """What came of going back or forth: the file, and which other exercises' functions changed with it.

    ``kept`` says whether something was there before, and is kept.
    """

    path: Path
    others: tuple[str, ...]
    kept: bool


class Work:
    """The files of one course: in ``assignments/``, and in Drive where there is one."""

    def __init__(self, course: Course, drive: Path | None = None) -> None:
        self.course = course
        self.folder = course.root / "assignments"
        self.drive = drive / slug(course.title) / "assignments" if drive is not None else None
        self._begun: Callable[[Exercise, str], bool] | None = None

    def save(self, exercise: Exercise, cell: str) -> Saved:
        """Put a cell's functions into the exercise's file.

        On a new machine, where nothing of the file is begun, work of an earlier one is brought back from Drive first,
        so that no other exercise of the file is lost.

        Raises:
            UsageError: the cell does not parse or lacks the functions, or the file cannot be read or written.
            CourseError: a stub of the course is broken.
        """
        notes = []
        path = self.folder / exercise.stub
        data = _bytes(path)
        before = read_text(data) if data is not None else None
        if data is not None and (sentence := _unlike(exercise, path, data, before)):
            notes.append(sentence)
        base = before
        there = self._in_drive(exercise.stub)
        if there != before and self._any_begun(exercise.stub, there) and not self._any_begun(exercise.stub, before):
            base = there
            notes.append(f"{exercise.stub} was brought back from your Drive first: nothing of it was begun here.")
        if base is None:
            base = pristine_stubs(self.course)[exercise.stub]
        python = python_of_cell(cell)
        left = self._still_stubs(exercise.stub, python, base)
        answer = put_into(base, cell, exercise, left)
        if not self._is_begun(exercise, python) and self._is_begun(exercise, base):
            return self._left_alone(exercise, base if base != before else None, tuple(notes))
        notes += self._of_others(exercise, answer, left)
        changed = answer.text != before
        if changed:
            self._write(exercise.stub, answer.text.encode(), (exercise.id,))
        if self.drive is not None and (
            sentence := self._copy_to_drive(exercise.stub, answer.text.encode(), (before, base))
        ):
            notes.append(sentence)
        return Saved(answer, path, changed, tuple(notes))

    def undo(self, exercise: Exercise) -> Stepped | None:
        """Put the exercise back to what it was before its last change; None if no earlier version is kept.

        If nothing else has happened to the file since, all of it is as before, byte for byte.  Otherwise the exercise's
        functions go back alone.  What is there is kept first, whoever wrote it, for `redo`.

        Raises:
            UsageError: it cannot be read, kept or written.
        """
        return self._step(exercise, self._versions(exercise.stub), self._undone(exercise.stub))

    def redo(self, exercise: Exercise) -> Stepped | None:
        """Bring back what the last `undo` took away; None if there is no such thing.

        Raises:
            UsageError: it cannot be read, kept or written.
        """
        return self._step(exercise, self._undone(exercise.stub), self._versions(exercise.stub))

    def answer(self, exercise: Exercise) -> str:
        """The exercise's functions as they are saved.

        Raises:
            UsageError: the file cannot be read, or has none of them.
        """
        path = self.folder / exercise.stub
        functions = functions_of(_read(path) or "", exercise)
        if not functions:
            raise UsageError(f"{shown(path)} holds no answer to {exercise.id}.")
        return "\n\n\n".join(functions)

    def restore(self) -> tuple[str, ...]:
        """Bring back from Drive each file that differs; the stubs' names. What was here is kept for `undo`.

        Raises:
            UsageError: Drive is not mounted, holds no work of this course, or a file cannot be read or written.
        """
        if self.drive is None:
            raise UsageError(
                "Google Drive is not mounted here. On Colab run: from google.colab import drive; "
                'drive.mount("/content/drive")'
            )
        found = {stub: data for stub in stub_files(self.course) if (data := _bytes(self.drive / stub)) is not None}
        if not found:
            raise UsageError(f"There is no work of this course in {self.drive}.")
        different = {stub: data for stub, data in found.items() if data != _bytes(self.folder / stub)}
        for stub, data in different.items():
            self._write(stub, data, self._owners(stub))
        return tuple(different)

    def waiting_in_drive(self) -> tuple[str, ...]:
        """Stub files that are begun in Drive and not here: a new machine, and work of an earlier one."""
        return tuple(
            stub
            for stub in (stub_files(self.course) if self.drive is not None else ())
            if (text := self._in_drive(stub)) is not None
            and self._any_begun(stub, text)
            and not self._any_begun(stub, _read(self.folder / stub))
        )

    def _left_alone(self, exercise: Exercise, brought_back: str | None, notes: tuple[str, ...]) -> Saved:
        """A cell that is still the stub, of an exercise that is answered in the file: as when a notebook is new."""
        path = self.folder / exercise.stub
        if brought_back is not None:
            self._write(exercise.stub, brought_back.encode(), self._owners(exercise.stub))
        sentence = (
            f"The cell is as it was handed out, so your answer in {shown(path)} was kept, and is what is graded. "
            f"%course show {exercise.id} prints it."
        )
        return Saved(None, path, False, (*notes, sentence))

    def _any_begun(self, stub: str, text: str | None) -> bool:
        return any(self._is_begun(one, text) for one in self.course.exercises if one.stub == stub)

    def _is_begun(self, exercise: Exercise, text: str | None) -> bool:
        if text is None:
            return False
        if self._begun is None:
            self._begun = begun_in(self.course)
        return self._begun(exercise, text)

    def _in_drive(self, stub: str) -> str | None:
        return _read(self.drive / stub) if self.drive is not None else None

    def _still_stubs(self, stub: str, python: str, base: str) -> frozenset[str]:
        """Functions that a cell has as they were handed out, while the file has an answer: they replace nothing."""
        ones = [
            replace(exercise, functions=(function,))
            for exercise in self.course.exercises
            if exercise.stub == stub
            for function in exercise.functions
        ]
        return frozenset(
            one.functions[0].name for one in ones if not self._is_begun(one, python) and self._is_begun(one, base)
        )

    def _of_others(self, exercise: Exercise, answer: Answer, left: Collection[str]) -> list[str]:
        """Sentences on what a cell does to other exercises of its file."""
        owner = {
            function.name: other
            for other in self.course.exercises
            if other.stub == exercise.stub
            for function in other.functions
        }
        notes = []
        if own := [name for name in left if owner[name].id == exercise.id and f"def {name}" in answer.text]:
            notes.append(f"{_listed(own)} in this cell is as it was handed out, so what the file holds was kept.")
        if taken := [name for name in answer.replaced if name in owner]:
            ids = list(dict.fromkeys(owner[name].id for name in taken))
            notes.append(
                f"This cell also holds {_listed(taken)}, and replaced what the file held of {_listed(ids)}. "
                f"If that is not meant: %course undo {exercise.id}, and leave it out of this cell."
            )
        used = used_by(answer.text)
        for helper in answer.replaced:
            users = [
                name
                for name, other in owner.items()
                if other.id != exercise.id
                and helper not in owner
                and helper in used.get(name, ())
                and name not in taken
            ]
            begun = [owner[name] for name in users if self._is_begun(owner[name], answer.text)]
            if ids := list(dict.fromkeys(other.id for other in begun)):
                notes.append(
                    f"`{helper}` is used by {_listed(ids)} too, which from now on {'use' if len(ids) > 1 else 'uses'} "
                    f"this cell's. If that is not meant: %course undo {exercise.id}, give `{helper}` another name in "
                    "this cell, and run it again."
                )
        return notes

    def _step(self, exercise: Exercise, back: Versions, forth: Versions) -> Stepped | None:
        path = self.folder / exercise.stub
        now = _bytes(path)
        text = read_text(now) if now is not None else None
        try:
            while (version := back.newest(exercise.id)) is not None:
                then = version.path.read_bytes()
                earlier = read_text(then)
                gone: tuple[str, ...] = (exercise.id,)
                data = then
                if now is None or version.was_before(now) or text is None or earlier is None:
                    gone = tuple(version.exercises)
                elif (mixed := back_to(text, earlier, exercise)) is not None and mixed != earlier:
                    data = mixed.encode()
                if data != now:
                    break
                back.done_with(version, gone, is_there=data == then)  # nothing would change: one further back
            else:
                return None
            if now is not None:
                forth.keep(now, gone, data)
        except OSError as error:
            raise UsageError(f"No copy of {path} can be made ({_reason(error)}), so nothing was changed.") from error
        _write(path, data)
        try:
            back.done_with(version, gone, is_there=data == then)
        except OSError as error:
            raise UsageError(f"{version.path} cannot be renamed ({_reason(error)}).") from error
        if self.drive is not None:
            self._copy_to_drive(exercise.stub, data, (text,))
        return Stepped(path, self._changed(exercise, text or "", read_text(data) or ""), now is not None)

    def _changed(self, exercise: Exercise, before: str, now: str) -> tuple[str, ...]:
        """The other exercises of the file of which two texts hold different functions."""
        return tuple(
            other.id
            for other in self.course.exercises
            if other.stub == exercise.stub
            and other.id != exercise.id
            and functions_of(before, other) != functions_of(now, other)
        )

    def _write(self, stub: str, data: bytes, exercises: Sequence[str]) -> None:
        """Write a stub file, and keep what was there where `undo` of these exercises finds it."""
        path = self.folder / stub
        if (now := _bytes(path)) is not None:
            try:
                self._versions(stub).keep(now, exercises, data)
            except OSError as error:
                raise UsageError(
                    f"No copy of {path} can be made ({_reason(error)}), so nothing was changed."
                ) from error
        _write(path, data)

    def _owners(self, stub: str) -> list[str]:
        return [exercise.id for exercise in self.course.exercises if exercise.stub == stub]

    def _versions(self, stub: str) -> Versions:
        return Versions(self.folder / _UNDO / stub, self._owners(stub), _VERSIONS)

    def _undone(self, stub: str) -> Versions:
        return Versions(self.folder / _UNDO / stub / _UNDONE, self._owners(stub), _VERSIONS)

    def _copy_to_drive(self, stub: str, data: bytes, known: tuple[str | None, ...]) -> str:
        """Bring the copy in Drive up to date; a sentence where that did not go as usual.

        A copy that is none of ``known``, as when another machine wrote it, is kept beside the new one.
        """
        assert self.drive is not None
        target = self.drive / stub
        try:
            there = _bytes(target)
            if there == data:
                return ""
            target.parent.mkdir(parents=True, exist_ok=True)
            copy = copy_aside(target) if there is not None and read_text(there) not in known else None
            write_whole(target, data)
        except (OSError, UsageError) as error:
            reason = _reason(error) if isinstance(error, OSError) else str(error).rstrip(".")
            return f"Saved here, but not in your Drive: {ended(reason)}"
        return f"Your Drive held another version of {stub}; it is kept there as {copy.name}." if copy else ""


def find_drive() -> Path | None:
    """The mounted Drive, or the folder that ``AUTOGRADER_DRIVE`` names in its place; None if there is neither."""
    named = os.environ.get(DRIVE_SETTING)
    drive = Path(named) if named else _DRIVE
    return drive if drive.is_dir() else None


def shown(path: Path) -> str:
    """A path as people would type it: from the current folder where it is below that."""
    try:
        here = current_folder()
    except CourseError:
        return str(path)
    return str(path.relative_to(here)) if path.is_relative_to(here) else str(path)


def _bytes(path: Path) -> bytes | None:
    """What a file holds; None if there is no file."""
    if not path.exists():
        return None
    if not path.is_file():
        raise UsageError(f"{path} is no ordinary file. Move it away, then run the cell again.")
    try:
        return path.read_bytes()
    except OSError as error:
        raise UsageError(f"{path} cannot be read ({_reason(error)}).") from error


def _read(path: Path) -> str | None:
    """The file's text; None if there is no file, or no text in it."""
    data = _bytes(path)
    return read_text(data) if data is not None else None


def _write(path: Path, data: bytes) -> None:
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise UsageError(f"{path} cannot be written ({_reason(error)}).") from error
    write_whole(path, data)


def _unlike(exercise: Exercise, path: Path, data: bytes, text: str | None) -> str:
    """A sentence on a file that is not kept in all of its bytes, though they come back with an undo."""
    back = f"%course undo {exercise.id} brings back what was there."
    if text is None:
        return f"{shown(path)} held no text, so the stub took its place. {back}"
    try:
        data.decode()
    except UnicodeDecodeError:
        return f"{shown(path)} was not UTF-8 text: it is now, and bytes that are none became \ufffd. {back}"
    return ""


def _listed(names: Sequence[str]) -> str:
    return " and ".join(filter(None, (", ".join(names[:-1]), names[-1])))


def _reason(error: OSError) -> str:
    return (error.strerror or str(error)).lower()
