"""CPU: a hint to the compiler that is not so ends the kernel, and one that is so does no harm."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from autograder.pool import Pool
from tests.worker.test_interpreter import launch

STORE = "; tl.store(o_ptr + offs, tl.load(a_ptr + offs))"
PLACE = "at = offs[:, None] * 8 + tl.arange(0, 4)[None, :]; "
TRUE = [
    "offs = tl.max_contiguous(tl.multiple_of(offs, 32), 32)",
    "offs = tl.multiple_of(offs, 32)",  # of each run of consecutive numbers the first counts
    "x = tl.max_contiguous(offs, 64)",  # longer than the tile
    "x = tl.multiple_of(offs * 16, 16)",
    "x = tl.max_contiguous(offs % 8, 8)",
    "x = tl.max_constancy(offs // 8, 8)",
    "x = tl.multiple_of(tl.program_id(0) * 32, 32)",
    "x = tl.max_contiguous(a_ptr + offs, 32)",
    "x = tl.multiple_of(a_ptr + offs, 16)",
    PLACE + "x = tl.max_contiguous(at, [1, 4])",
    PLACE + "x = tl.multiple_of(at, [1, 8])",
    PLACE + "x = tl.multiple_of(at, [16, 4])",  # rows are not side by side
    PLACE + "x = tl.multiple_of(a_ptr + at, [16, 16])",
    "x = tl.multiple_of((offs * 8)[:, None], [8, 1])",
    PLACE + "x = tl.max_constancy(at * 0, [32, 4])",
]
FALSE = [
    ("x = tl.max_contiguous(offs % 8, 16)", "max_contiguous promises 16 along axis 0"),
    ("x = tl.max_contiguous(offs * 2, 2)", "max_contiguous promises 2"),
    ("x = tl.multiple_of(offs * 4, 16)", "multiple_of promises 16"),
    ("x = tl.multiple_of(offs + 1, 2)", "multiple_of promises 2"),
    ("x = tl.max_constancy(offs // 4, 8)", "max_constancy promises 8"),
    ("x = tl.max_contiguous(a_ptr + offs * 2, 4)", "max_contiguous promises 4"),
    ("x = tl.multiple_of(a_ptr + offs * 2, 16)", "multiple_of promises 16"),
    (PLACE + "x = tl.max_contiguous(at, [32, 1])", "max_contiguous promises 32 along axis 0"),
    (PLACE + "x = tl.multiple_of(at + 2, [1, 4])", "multiple_of promises 4 along axis 1"),
    ("x = tl.multiple_of((offs * 8)[:, None], [16, 1])", "multiple_of promises 16 along axis 0"),
]


@pytest.fixture(scope="module")
def pool() -> Iterator[Pool]:
    with Pool("cpu") as pool:
        yield pool


@pytest.mark.parametrize("body", TRUE)
def test_a_true_hint_is_welcome(pool: Pool, tmp_path: Path, body: str) -> None:
    reply = launch(pool, tmp_path, body + STORE)
    assert (reply.outcome, reply.message) == ("ran", "")


@pytest.mark.parametrize(("body", "message"), FALSE)
def test_a_false_hint_is_told(pool: Pool, tmp_path: Path, body: str, message: str) -> None:
    reply = launch(pool, tmp_path, body + STORE)
    assert reply.outcome == "violation", reply
    assert message in reply.message
    assert reply.line in (4, 5)
