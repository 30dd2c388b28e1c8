"""A student's files: saved with what was there before kept, and copied to Google Drive where that is mounted."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from autograder.catalogue import Course, Exercise
from autograder.errors import UsageError
from autograder.handin import python_of_cell, read_text, split_lines
from autograder.notebook._answer import Answer, put_into
from autograder.plan import begun_in
from autograder.release.bundle import slug
from autograder.release.files import copy_aside, write_whole
from autograder.release.spans import function_spans
from autograder.release.stubs import pristine_stubs, stub_files

DRIVE_SETTING = "AUTOGRADER_DRIVE"
_DRIVE = Path("/content/drive/MyDrive")  # where Colab mounts it
_UNDO = ".undo"  # hidden, so that no hand-in takes its files for work
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
        before = _read(path)
        base = before
        there = self._in_drive(exercise.stub)
        if there != before and self._any_begun(exercise.stub, there) and not self._any_begun(exercise.stub, before):
            base = there
            notes.append(f"{exercise.stub} was brought back from your Drive first: nothing of it was begun here.")
        if base is None:
            base = pristine_stubs(self.course)[exercise.stub]
        answer = put_into(base, cell, exercise)
        if not self._is_begun(exercise, python_of_cell(cell)) and self._is_begun(exercise, base):
            return self._left_alone(exercise, base if base != before else None, tuple(notes))
        changed = answer.text != before
        if changed:
            self._keep(exercise.stub)
            _write(path, answer.text)
        if self.drive is not None and (sentence := self._copy_to_drive(exercise.stub, answer.text, (before, base))):
            notes.append(sentence)
        return Saved(answer, path, changed, tuple(notes))

    def undo(self, exercise: Exercise) -> Path | None:
        """Put the exercise's file back to what it was before the last change; None if no earlier version is kept.

        Raises:
            UsageError: it cannot be read or written.
        """
        versions = self._versions(exercise.stub)
        if not versions:
            return None
        path = self.folder / exercise.stub
        now, text = _read(path), _read(versions[-1]) or ""
        _write(path, text)
        versions[-1].unlink(missing_ok=True)
        if self.drive is not None:
            self._copy_to_drive(exercise.stub, text, (now,))
        return path

    def answer(self, exercise: Exercise) -> str:
        """The exercise's functions as they are saved.

        Raises:
            UsageError: the file cannot be read, or has none of them.
        """
        path = self.folder / exercise.stub
        rows = split_lines(_read(path) or "")
        spans = function_spans(rows)
        places = sorted(spans[function.name][-1] for function in exercise.functions if function.name in spans)
        if not places:
            raise UsageError(f"{shown(path)} holds no answer to {exercise.id}.")
        return "\n\n\n".join("\n".join(rows[first - 1 : last]) for first, last in places)

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
        found = {stub: text for stub in stub_files(self.course) if (text := self._in_drive(stub)) is not None}
        if not found:
            raise UsageError(f"There is no work of this course in {self.drive}.")
        different = {stub: text for stub, text in found.items() if text != _read(self.folder / stub)}
        for stub, text in different.items():
            self._keep(stub)
            _write(self.folder / stub, text)
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
            self._keep(exercise.stub)
            _write(path, brought_back)
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

    def _keep(self, stub: str) -> None:
        """Copy the file as it is now to where `undo` finds it; the oldest versions go."""
        path = self.folder / stub
        if not path.exists():
            return
        versions = self._versions(stub)
        number = int(versions[-1].stem) + 1 if versions else 1
        try:
            place = self._undo_folder(stub) / f"{number:06d}.py"
            place.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(path, place)
            for old in versions[: max(0, len(versions) + 1 - _VERSIONS)]:
                old.unlink(missing_ok=True)
        except OSError as error:
            raise UsageError(f"No copy of {path} can be made ({_reason(error)}), so nothing was changed.") from error

    def _versions(self, stub: str) -> list[Path]:
        return sorted(path for path in self._undo_folder(stub).glob("*.py") if path.stem.isdecimal())

    def _undo_folder(self, stub: str) -> Path:
        return self.folder / _UNDO / stub

    def _copy_to_drive(self, stub: str, text: str, known: tuple[str | None, ...]) -> str:
        """Bring the copy in Drive up to date; a sentence where that did not go as usual.

        A copy that is none of ``known``, as when another machine wrote it, is kept beside the new one.
        """
        assert self.drive is not None
        target = self.drive / stub
        try:
            there = _read(target)
            if there == text:
                return ""
            target.parent.mkdir(parents=True, exist_ok=True)
            copy = copy_aside(target) if there is not None and there not in known else None
            write_whole(target, text.encode())
        except (OSError, UsageError) as error:
            reason = _reason(error) if isinstance(error, OSError) else str(error).rstrip(".")
            return f"Saved here, but not in your Drive: {reason}."
        return f"Your Drive held another version of {stub}; it is kept there as {copy.name}." if copy else ""


def find_drive() -> Path | None:
    """The mounted Drive, or the folder that ``AUTOGRADER_DRIVE`` names in its place; None if there is neither."""
    named = os.environ.get(DRIVE_SETTING)
    drive = Path(named) if named else _DRIVE
    return drive if drive.is_dir() else None


def shown(path: Path) -> str:
    """A path as people would type it: from the current folder where it is below that."""
    return str(path.relative_to(Path.cwd())) if path.is_relative_to(Path.cwd()) else str(path)


def _read(path: Path) -> str | None:
    """The file's text; None if there is no file, or no text in it."""
    if not path.exists():
        return None
    if not path.is_file():
        raise UsageError(f"{path} is no ordinary file. Move it away, then run the cell again.")
    try:
        return read_text(path.read_bytes())
    except OSError as error:
        raise UsageError(f"{path} cannot be read ({_reason(error)}).") from error


def _write(path: Path, text: str) -> None:
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise UsageError(f"{path} cannot be written ({_reason(error)}).") from error
    write_whole(path, text.encode())


def _reason(error: OSError) -> str:
    return (error.strerror or str(error)).lower()
