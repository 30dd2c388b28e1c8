"""What can be seen from outside of files that nobody will be able to grade: a student can still be asked for others."""

from __future__ import annotations

import os
import stat
import zipfile
from pathlib import Path

from autograder.handin._names import Kind, a_few, kind_of, show

_NONE = "no .py, .ipynb or .zip"


def trouble(folder: Path) -> str:
    """Why a student's folder seems to hold nothing to grade, or which zip of it is none; empty if all looks well.

    Nothing is unpacked or read but the end of a zip, so that silence promises nothing.
    """
    good = 0
    bad: list[str] = []
    empty: list[str] = []
    others: list[str] = []
    for base, folders, files in os.walk(folder):
        folders.sort()
        for name in sorted(files):
            kind, path = kind_of(name), Path(base, name)
            if kind is None:
                others.append(show(name))
            elif _size(path) == 0:
                empty.append(show(name))
            elif kind is Kind.ZIP and not _ends_as_a_zip(path):
                bad.append(show(name))
            else:
                good += 1
    damaged = f"{a_few(bad)} {'is no zip, or is' if len(bad) == 1 else 'are no zips, or are'} cut off" if bad else ""
    if good:
        return damaged
    nothing = f"{a_few(empty)} {'is' if len(empty) == 1 else 'are'} empty" if empty else ""
    if found := "; ".join(part for part in (nothing, damaged) if part):
        return found
    return f"{_NONE}, only {a_few(others)}" if others else ""


def _size(path: Path) -> int:
    try:
        status = path.lstat()
    except OSError:
        return 0
    return status.st_size if stat.S_ISREG(status.st_mode) else 0


def _ends_as_a_zip(path: Path) -> bool:
    try:
        return zipfile.is_zipfile(path)
    except OSError:
        return False
