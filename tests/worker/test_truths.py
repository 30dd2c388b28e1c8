"""CPU: `not`, `max` and `min` are of tiles as Triton compiles them, and a tile is no truth value anywhere else."""

from __future__ import annotations

import struct
from collections.abc import Iterator
from pathlib import Path

import pytest

from autograder.pool import Pool
from autograder.protocol import CheckJob, CheckReply, Job, RawTensor

LAUNCH = """
def outputs(case):
    return {"o": ((4,), "float32")}

def launch(run, student, case, inputs, outputs):
    run(student.kernel, (1,), inputs["a"], outputs["o"], 3, True)
"""


@pytest.fixture(scope="module")
def pool() -> Iterator[Pool]:
    with Pool("cpu") as pool:
        yield pool


def run(pool: Pool, folder: Path, body: str) -> CheckReply:
    """Run ``body``, which makes ``x`` of the tile ``a``: -1, 0, 1, 2."""
    (folder / "launch.py").write_text(LAUNCH)
    lines = [
        "offs = tl.arange(0, 4)",
        "a = tl.load(a_ptr + offs)",
        "x = a",
        *body.split("\n"),
        "tl.store(o_ptr + offs, x)",
    ]
    module = "@triton.jit\ndef kernel(a_ptr, o_ptr, n, ON: tl.constexpr):\n    " + "\n    ".join(lines) + "\n"
    check = CheckJob("c", {}, {"a": RawTensor("float32", (4,), struct.pack("4f", -1, 0, 1, 2))})
    replies: list[CheckReply] = []
    pool.run(
        Job(str(folder / "launch.py"), "k.py", module, ("kernel",), (check,)),
        lambda reply, _: replies.append(reply) is None,
    )
    return replies[0]


@pytest.mark.parametrize(
    ("body", "values"),
    [
        ("x = tl.where(not a > 0, 5.0, a)", (5, 5, 1, 2)),
        ("hidden = not (a > 0)\nx = tl.where(not hidden, 5.0, a)", (-1, 0, 5, 5)),
        ("x = tl.where(not a > 0, 5.0, a) if not ON or not n > 4 else a", (5, 5, 1, 2)),
        ("if not n:\n    x = a * 0.0", (-1, 0, 1, 2)),
        ("if not (n > 4 and ON):\n    x = a + 1.0", (0, 1, 2, 3)),
        ("x = max(a, 0.0, a * 2.0)", (0, 0, 2, 4)),
        ("x = min(max(a, 0.5), tl.max(a, 0) - 0.5)", (0.5, 0.5, 1, 1.5)),
        ("x = a + max(n, 4) + min(1, 2)", (4, 5, 6, 7)),
        # Triton's own functions, which are written in its language too, and where `max` is `tl.max`.
        ("x = a * 0.0 + tl.argmax(a, 0) - tl.argmin(a, 0)", (3, 3, 3, 3)),
        ("m, i = tl.max(a, 0, return_indices=True)\nx = a * 0.0 + m + i", (5, 5, 5, 5)),
        ("x = tl.sort(0.0 - a) + 0.0 * tl.softmax(a) * tl.cdiv(n, 2)", (-2, -1, 0, 1)),
        ("x = tl.where(0.0 <= a, 1.0, 2.0) if 1 < n < 4 else a", (2, 1, 1, 1)),
        # A single truth value beside a tile of them, as a mask.
        ("x = tl.load(a_ptr + offs, mask=(offs < n) & (n != 53), other=7.0)", (-1, 0, 1, 7)),
        ("x = tl.load(a_ptr + offs, mask=(tl.load(a_ptr) > 0.0) | (offs > 1), other=7.0)", (7, 7, 1, 2)),
        ("x = tl.where((n > 3) & (a > 0), 5.0, a)", (-1, 0, 1, 2)),
        ("i = max(n - 3, 0)\nwhile i < 2 and not i == 2:\n    x += 1.0\n    i += 1", (1, 2, 3, 4)),
    ],
)
def test_of_tiles_they_are_what_triton_compiles(
    pool: Pool, tmp_path: Path, body: str, values: tuple[float, ...]
) -> None:
    reply = run(pool, tmp_path, body)
    assert reply.outcome == "ran", reply
    assert struct.unpack("4f", reply.outputs["o"].data) == values


@pytest.mark.parametrize(
    ("body", "says"),
    [
        ("x = tl.where(a > 0 and a < 2, a, 0.0)", "`and` and `or` join single truth values"),
        ("x = tl.where(a > 0 or ON, a, 0.0)", "`and` and `or` join single truth values"),
        ("if a > 0:\n    x = a + 1.0", "`if` takes a single truth value"),
        ("if not a > 0:\n    x = a + 1.0", "`if` takes a single truth value"),
        ("x = a if a > 0 else 0.0", "`a if condition else b` takes a single truth value"),
        ("while x > 0:\n    x -= 1.0", "`while` takes a single truth value"),
        ("x = max(a)", "`tl.max(tile, axis)`"),
        ("x = tl.where(not a, a, 0.0)", "Compare them with `== 0` or `!= 0`."),
        ("for i in range(len((a, a))):\n    x = a if i == 5 or a > 0 else x", "`a if condition else b` takes"),
    ],
)
def test_what_stands_in_the_line_is_named(pool: Pool, tmp_path: Path, body: str, says: str) -> None:
    reply = run(pool, tmp_path, body)
    assert reply.outcome == "compile-error"
    assert says in reply.message
    assert reply.line == (7 if body.startswith("for") else 6)
