"""Put an exercise back to its stub, function by function, so that other work in the same file stays."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from autograder.catalogue import Course, Exercise
from autograder.errors import UsageError
from autograder.handin import read_text, split_lines
from autograder.release.files import copy_aside, write_whole
from autograder.release.spans import function_spans
from autograder.release.stubs import pristine_stubs


@dataclass(frozen=True, slots=True)
class Reset:
    """What was done: the copy that was made of the file, if any, and whether the stub was written whole."""

    copy: Path | None
    whole: bool


def is_reset_whole(path: Path) -> bool:
    """Whether nothing of the file at ``path`` can be kept, so that the whole stub takes its place.

    So it is where no file is, and where its bytes are no text.

    Raises:
        UsageError: what is there is no ordinary file, or cannot be read.
    """
    return _read(path) is None


def reset_exercise(course: Course, exercise: Exercise, path: Path) -> Reset:
    """Replace the exercise's functions in ``path`` by the stub's, or write the whole stub (see `is_reset_whole`).

    Where the file does not parse, its functions are told apart by the lines at the left margin.

    Raises:
        UsageError: what is there is no ordinary file, or cannot be read or written.
    """
    pristine = pristine_stubs(course)[exercise.stub]
    text = _read(path)
    lines = split_lines(text) if text is not None else None
    names = [function.name for function in exercise.functions]
    updated = _replaced(lines, split_lines(pristine), names) if lines is not None else split_lines(pristine)
    if updated == lines:
        return Reset(None, False)
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        copy = copy_aside(path) if path.exists() else None
    except OSError as error:
        reason = (error.strerror or str(error)).lower()
        raise UsageError(f"Nothing can be written beside {path} ({reason}), so nothing was changed.") from error
    write_whole(path, ("\n".join(updated) + "\n").encode())
    return Reset(copy, lines is None)


def _read(path: Path) -> str | None:
    """The file's text; None if there is no file, or no text in it."""
    if not path.exists():
        return None
    if not path.is_file():
        raise UsageError(f"{path} is no ordinary file. Move it away and reset again.")
    try:
        return read_text(path.read_bytes())
    except OSError as error:
        raise UsageError(f"{path} cannot be read ({(error.strerror or str(error)).lower()}).") from error


def _replaced(lines: list[str], stub_lines: list[str], names: list[str]) -> list[str]:
    spans, stub_spans = function_spans(lines), function_spans(stub_lines)
    edits: list[tuple[int, int, list[str]]] = []
    for name in names:
        first, last = stub_spans[name][-1]
        fresh = stub_lines[first - 1 : last]
        places = spans.get(name, [])
        if not places:
            edits.append((len(lines) + 1, len(lines), ["", "", *fresh]))
        for number, (start, end) in enumerate(places):  # of several definitions the last counts: keep only one
            edits.append((start, end, fresh if number == len(places) - 1 else []))
    updated = list(lines)
    for start, end, fresh in sorted(edits, reverse=True):
        updated[start - 1 : end] = fresh
    return updated
