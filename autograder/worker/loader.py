"""Vetted source text to kernels, and a launch file to its functions."""

from __future__ import annotations

import linecache
import types
from pathlib import Path
from typing import Any

import triton
import triton.language as tl

from autograder.protocol import Job


def load_kernels(job: Job, folder: Path) -> types.SimpleNamespace:
    """The job's functions as Triton jit functions.

    The module's text is written to ``folder`` under the student's file name, since Triton reads a function's source
    back from its file.  It is executed in a namespace that holds ``triton``, ``tl`` and the substitutes: it has no
    import of its own.
    """
    namespace: dict[str, Any] = {}
    for number, (name, source) in enumerate(job.substitutes.items()):
        namespace[name] = _execute(source, folder / f"reference_{number}.py", {})[name]
    module = _execute(job.module, student_file(job, folder), namespace)
    return types.SimpleNamespace(**{name: module[name] for name in job.functions})


def student_file(job: Job, folder: Path) -> Path:
    """Where the student's module lies; tracebacks are searched for this name."""
    return folder / Path(job.file_name).name


def load_launch(path: Path) -> types.SimpleNamespace:
    """The trusted launch file's ``outputs`` and ``launch``.

    Triton reads the source of the file's kernels back only when they are launched, and by then the file may be out of
    reach: its text is kept where Python looks first, marked (None) as nothing to compare with a file.
    """
    module = types.ModuleType("launch")
    module.__file__ = str(path)
    text = path.read_text(encoding="utf-8")
    linecache.cache[str(path)] = (len(text), None, text.splitlines(keepends=True), str(path))
    exec(compile(text, str(path), "exec"), module.__dict__)
    return types.SimpleNamespace(outputs=module.__dict__["outputs"], launch=module.__dict__["launch"])


def _execute(source: str, path: Path, names: dict[str, Any]) -> dict[str, Any]:
    path.write_text(source, encoding="utf-8", newline="\n")
    namespace: dict[str, Any] = {"__name__": "student", "__file__": str(path), "triton": triton, "tl": tl, **names}
    exec(compile(source, str(path), "exec", dont_inherit=True), namespace)
    return namespace
