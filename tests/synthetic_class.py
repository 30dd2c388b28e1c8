"""A class of students who do not exist, with what they handed in, as Canvas, Moodle or a plain folder would give it.

    python -m tests.synthetic_class DIR [--students 60]

writes ``canvas.zip``, ``canvas_gradebook.csv``, ``moodle.zip``, ``moodle_worksheet.csv`` and ``folders/`` into DIR.
The same number of students gives the same class.
"""

from __future__ import annotations

import argparse
import csv
import io
import json
import re
import zipfile
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from autograder.catalogue import load_course
from tests.lessons import of_lesson

ROOT = Path(__file__).parents[1]
ONE_SHOT, FLASH = "one_shot_attention.py", "flash_attention.py"

_FAMILY = (
    "Doe",
    "Nguyễn",
    "O'Brien",
    "García Márquez",
    "Müller",
    "van der Berg",
    "李",
    "Smith, Jr.",
    "Øst",
    "Kowalski",
)
_GIVEN = ("Jane", "Aïcha", 'Robert "Bob"', "José", "Zoë", "Wei", "Anna", "Lars", "=Ada", "Tomasz")

_HOSTILE = {
    "exits": "import os\nos._exit(0)\n",
    "prints a grade": 'print(\'{"schema": 1, "total": {"score": 10}}\')\n',
    "never ends while imported": "while True:\n    pass\n",
}
_ENDLESS = "    while NSEQ > 0:\n        s = s\n"
_OUTSIDE = "    tl.store(q_ptr - 4000000, 0.0)\n"


_WORKSHEET = (
    *("Identifier", "Full name", "Email address", "Status", "Grade", "Maximum Grade", "Grade can be changed"),
    *("Last modified (submission)", "Last modified (grade)", "Feedback comments"),
)


@dataclass(frozen=True)
class Invented:
    """One student: ``kind`` says what to expect, ``files`` is the latest attempt, ``earlier`` the one before."""

    number: int
    name: str
    kind: str
    files: Mapping[str, bytes]
    earlier: Mapping[str, bytes] = field(default_factory=dict)
    late: bool = False

    @property
    def lms_id(self) -> int:
        return 1000 + self.number


def solution(name: str) -> str:
    return (ROOT / "solutions" / "lesson7" / name).read_text(encoding="utf-8")


def stub(name: str) -> str:
    return (ROOT / "assignments" / "lesson7" / name).read_text(encoding="utf-8")


def unlike_others(text: str, number: int) -> str:
    """A right answer that no one else has: each function begins with a line of its own."""
    return re.sub(
        r"(@triton\.jit\ndef \w+\((?:[^()]|\([^()]*\))*\):\n)(    \"\"\"(?:.|\n)*?\"\"\"\n)?",
        lambda match: f"{match[0]}    mine_{number} = {number}\n",
        text,
    )


def mistaken(name: str, exercise: str, mistake: str) -> str:
    """A right file with one wrong function at its end, which is the one that counts."""
    return (
        f"{solution(name)}\n\n{(ROOT / 'tests' / 'mistakes' / exercise / f'{mistake}.py').read_text(encoding='utf-8')}"
    )


def _good(number: int) -> dict[str, bytes]:
    return {name: unlike_others(solution(name), number).encode() for name in (ONE_SHOT, FLASH)}


def _half(number: int) -> dict[str, bytes]:
    return {ONE_SHOT: unlike_others(solution(ONE_SHOT), number).encode(), FLASH: stub(FLASH).encode()}


def _wrong(number: int) -> dict[str, bytes]:
    files = {name: solution(name).encode() for name in (ONE_SHOT, FLASH)}
    if number % 2:
        return files | {FLASH: mistaken(FLASH, "online_softmax_update", "acc_not_rescaled").encode()}
    return files | {ONE_SHOT: mistaken(ONE_SHOT, "score_mask", "causal_reversed").encode()}


def _empty(number: int) -> dict[str, bytes]:
    return {"README.txt": b"I was ill.\n"} if number % 2 else {}


def _broken(number: int) -> dict[str, bytes]:
    text = solution(FLASH).replace("def online_softmax_update(", "def online_softmax_update((", 1)
    return {ONE_SHOT: solution(ONE_SHOT).encode("utf-16"), FLASH: text.encode()}


def _hostile(number: int) -> dict[str, bytes]:
    text = solution(ONE_SHOT)
    pin = re.search(r"def pin_ghost_rows\((?:[^()]|\([^()]*\))*\):\n(?:    \"\"\"(?:.|\n)*?\"\"\"\n)?", text)
    loads = re.search(r"def load_tiles\((?:[^()]|\([^()]*\))*\):\n(?:    \"\"\"(?:.|\n)*?\"\"\"\n)?", text)
    assert pin is not None
    assert loads is not None
    ways: tuple[Callable[[], str], ...] = (
        *(lambda top=top: top + text for top in _HOSTILE.values()),
        lambda: text[: pin.end()] + _ENDLESS + text[pin.end() :],
        lambda: text[: loads.end()] + _OUTSIDE + text[loads.end() :],
    )
    return {ONE_SHOT: ways[number % len(ways)]().encode(), FLASH: solution(FLASH).encode()}


def _zipped(number: int) -> dict[str, bytes]:
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w") as archive:
        for name, data in _good(number).items():
            archive.writestr(f"lesson7/{name}", data)
        archive.writestr("manifest.json", json.dumps({"schema": 1, "kit_version": "0.0.9"}))
    return {"hand-in.zip": stream.getvalue()}


def _notebook(number: int) -> dict[str, bytes]:
    cells = [
        {"cell_type": "code", "source": solution(name), "metadata": {}, "outputs": [], "execution_count": None}
        for name in (ONE_SHOT, FLASH)
    ]
    document = {"nbformat": 4, "nbformat_minor": 5, "metadata": {}, "cells": cells}
    return {"homework.ipynb": json.dumps(document).encode()}


_KINDS: tuple[tuple[str, Callable[[int], dict[str, bytes]]], ...] = (
    ("good", _good),
    ("half", _half),
    ("wrong", _wrong),
    ("good", _good),
    ("empty", _empty),
    ("duplicate", lambda number: {name: solution(name).encode() for name in (ONE_SHOT, FLASH)}),
    ("broken", _broken),
    ("hostile", _hostile),
    ("zipped", _zipped),
    ("untouched", lambda number: {name: stub(name).encode() for name in (ONE_SHOT, FLASH)}),
    ("notebook", _notebook),
    ("hostile", _hostile),
)


def invent(students: int) -> list[Invented]:
    """The class: every kind in turn, every seventh late, every fifth with an earlier attempt, two of one name."""
    invented = []
    for number in range(students):
        kind, make = _KINDS[number % len(_KINDS)]
        name = f"{_GIVEN[number % len(_GIVEN)]} {_FAMILY[number * 3 % len(_FAMILY)]}"
        files = make(number)
        earlier = {ONE_SHOT: stub(ONE_SHOT).encode()} if files and number % 5 == 2 else {}
        invented.append(Invented(number, name, kind, files, earlier, late=number % 7 == 3))
    return invented


def write_canvas(path: Path, invented: list[Invented]) -> None:
    """A zip as Canvas's "Download Submissions" makes it."""
    attachment = 50_000
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for student in invented:
            sortable = "".join(c for c in reversed(student.name.split(" ")) for c in c.lower() if c.isalnum())
            late = "LATE_" if student.late else ""
            for suffix, files in (("", student.earlier), ("-1" if student.earlier else "", student.files)):
                for name, data in files.items():
                    attachment += 1
                    stem, dot, end = name.rpartition(".")
                    archive.writestr(f"{sortable}_{late}{student.lms_id}_{attachment}_{stem}{suffix}{dot}{end}", data)


def points_of_the_course() -> float:
    """What an LMS was told that the course is worth."""
    return sum(exercise.points for exercise in of_lesson(load_course(ROOT), 7))


def write_canvas_gradebook(path: Path, invented: list[Invented]) -> None:
    """The CSV that Canvas's gradebook exports."""
    with path.open("w", encoding="utf-8-sig", newline="") as stream:
        writer = csv.writer(stream)
        writer.writerow(["Student", "ID", "SIS User ID", "SIS Login ID", "Section", "Mini FlashAttention (4711)"])
        writer.writerow(["    Points Possible", "", "", "", "", f"{points_of_the_course():g}"])
        for student in invented:
            given, _, family = student.name.rpartition(" ")
            login = f"user{student.lms_id}"
            writer.writerow([f"{family}, {given}", student.lms_id, f"S{student.lms_id}", login, "GPU 101", ""])


def write_moodle(path: Path, invented: list[Invented], suffix: str = "_") -> None:
    """A zip as Moodle's "Download all submissions" makes it; ``suffix`` is empty from 4.1 on."""
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for student in invented:
            folder = f"{student.name}_{student.lms_id}_assignsubmission_file{suffix}"
            for name, data in student.files.items():
                archive.writestr(f"{folder}/{name}", data)


def write_moodle_worksheet(path: Path, invented: list[Invented]) -> None:
    """Moodle's offline grading worksheet."""
    points = f"{points_of_the_course():.2f}"
    with path.open("w", encoding="utf-8", newline="") as stream:
        writer = csv.writer(stream)
        writer.writerow(_WORKSHEET)
        for student in invented:
            identity = [f"Participant {student.lms_id}", student.name, f"user{student.lms_id}@example.org"]
            writer.writerow([*identity, "Submitted for grading", "", points, "Yes", "-", "-", ""])


def write_folders(folder: Path, invented: list[Invented]) -> None:
    """One folder a student, named by the student's number."""
    for student in invented:
        own = folder / f"student_{student.lms_id}"
        own.mkdir(parents=True, exist_ok=True)
        for name, data in student.files.items():
            (own / name).write_bytes(data)


def write_all(out: Path, students: int) -> list[Invented]:
    """Everything into ``out``."""
    out.mkdir(parents=True, exist_ok=True)
    invented = invent(students)
    write_canvas(out / "canvas.zip", invented)
    write_canvas_gradebook(out / "canvas_gradebook.csv", invented)
    write_moodle(out / "moodle.zip", invented)
    write_moodle_worksheet(out / "moodle_worksheet.csv", invented)
    write_folders(out / "folders", invented)
    return invented


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("out", type=Path)
    parser.add_argument("--students", type=int, default=60)
    arguments = parser.parse_args()
    invented = write_all(arguments.out, arguments.students)
    print(f"{len(invented)} students in {arguments.out}")


if __name__ == "__main__":
    main()
