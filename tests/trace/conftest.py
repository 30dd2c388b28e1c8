"""A worker that stays warm, and a way to trace a solution with something changed in it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from autograder.catalogue import Course
from autograder.pool import Pool
from autograder.session import DEFAULT_SEED
from autograder.traced import Traced
from autograder.tracing import TraceRequest, trace

ROOT = Path(__file__).parents[2]
STUB = "lesson7/flash_attention.py"

Trace = Callable[..., Traced]


@pytest.fixture(scope="module")
def pool() -> Iterator[Pool]:
    with Pool("cpu") as pool:
        yield pool


@pytest.fixture
def traced(course: Course, pool: Pool, tmp_path: Path) -> Trace:
    """Traces the solution of lesson 7's Part B with ``more`` appended to it, or texts in it replaced."""

    def run(
        exercise: str = "flash_attention",
        more: str = "",
        replace: dict[str, str] | None = None,
        case: str | None = None,
        program: int | None = None,
        row: int | None = None,
    ) -> Traced:
        text = (ROOT / "solutions" / STUB).read_text(encoding="utf-8")
        for old, new in (replace or {}).items():
            assert text.count(old) == 1, old
            text = text.replace(old, new)
        path = tmp_path / STUB
        path.parent.mkdir(exist_ok=True)
        path.write_text(f"{text}\n{more}", encoding="utf-8")
        request = TraceRequest(tmp_path, course.exercise(exercise), DEFAULT_SEED, case, (), program, row)
        return trace(course, request, pool)

    return run


def mistake(exercise: str, name: str) -> str:
    return (ROOT / "tests" / "mistakes" / exercise / f"{name}.py").read_text(encoding="utf-8")
