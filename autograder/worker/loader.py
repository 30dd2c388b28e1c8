"""Vetted source text to kernels, and a launch file to its functions."""

from __future__ import annotations

import contextlib
import linecache
import types
from pathlib import Path
from typing import Any

import triton
import triton.language as tl
from triton.runtime import KernelInterface

from autograder.protocol import Job

# Path -> what tells whether it has changed, and what it holds.
_launches: dict[str, tuple[tuple[int, int], types.SimpleNamespace]] = {}


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
    """The trusted launch file's ``outputs``, ``launch`` and ``strides``; without one, all tensors are contiguous.

    A file that is as it was is loaded once in a process and the children it has from then on.  Triton reads the source
    of the file's kernels back only when they are launched, and by then the file may be out of reach: its text is kept
    where Python looks first, marked (None) as nothing to compare with a file.
    """
    status = path.stat()
    stamp = (status.st_mtime_ns, status.st_size)
    known = _launches.get(str(path))
    if known is not None and known[0] == stamp:
        return known[1]
    module = types.ModuleType("launch")
    module.__file__ = str(path)
    text = path.read_text(encoding="utf-8")
    linecache.cache[str(path)] = (len(text), None, text.splitlines(keepends=True), str(path))
    exec(compile(text, str(path), "exec"), module.__dict__)
    if triton.knobs.runtime.interpret:
        for value in list(module.__dict__.values()):
            if isinstance(value, KernelInterface):
                value.rewrite()  # the interpreter's own preparation of a kernel, which each child would do again
    launch = types.SimpleNamespace(
        outputs=module.__dict__["outputs"],
        launch=module.__dict__["launch"],
        strides=module.__dict__.get("strides", lambda case: {}),
    )
    _launches[str(path)] = stamp, launch
    return launch


def load_bench(path: Path) -> types.SimpleNamespace:
    """All that the trusted bench.py of an exercise defines."""
    module: dict[str, Any] = {"__name__": "bench", "__file__": str(path)}
    exec(compile(path.read_text(encoding="utf-8"), str(path), "exec"), module)
    return types.SimpleNamespace(**module)


def preload_launch(path: str) -> None:
    """Load a launch file ahead of the children that need it; should that fail, they will say how."""
    with contextlib.suppress(Exception):
        load_launch(Path(path))


def _execute(source: str, path: Path, names: dict[str, Any]) -> dict[str, Any]:
    path.write_text(source, encoding="utf-8", newline="\n")
    namespace: dict[str, Any] = {"__name__": "student", "__file__": str(path), "triton": triton, "tl": tl, **names}
    exec(compile(source, str(path), "exec", dont_inherit=True), namespace)
    return namespace
