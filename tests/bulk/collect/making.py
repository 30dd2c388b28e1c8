"""Downloads for the tests of collect, and what came of them."""

from __future__ import annotations

import zipfile
from collections.abc import Mapping
from pathlib import Path

from autograder.bulk.collect import Collected
from autograder.bulk.submissions import COLLECTED, Submission, load

Files = Mapping[str, str | bytes]


def make_zip(path: Path, files: Files) -> Path:
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, data in files.items():
            archive.writestr(name, data)
    return path


def make_folder(path: Path, files: Files) -> Path:
    path.mkdir(parents=True, exist_ok=True)
    for name, data in files.items():
        place = path / name
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_bytes(data.encode() if isinstance(data, str) else data)
    return path


def held(out: Path, *, kept: bool = False) -> dict[str, str]:
    """Files of the students and their contents; with ``kept`` those of earlier attempts instead."""
    root = out / ".attempts" if kept else out
    names = ((path.relative_to(root).as_posix(), path) for path in root.rglob("*") if path.is_file())
    return {name: path.read_text() for name, path in sorted(names) if not name.startswith(".")}


def students(out: Path) -> list[str]:
    return sorted(path.name for path in out.iterdir() if not path.name.startswith("."))


def submissions(out: Path) -> Mapping[str, Submission]:
    return load(out / COLLECTED)


def reasons(collected: Collected) -> dict[str, str]:
    """The reason by the name of the file."""
    return {one.shown: one.reason for one in collected.refused}
