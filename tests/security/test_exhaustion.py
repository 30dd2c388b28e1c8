"""Time and memory without end, in the kernel and in the compiler: the limit is named, and nobody else pays."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from autograder import gpu_targets, session
from autograder.catalogue import Course
from autograder.protocol import Limits
from autograder.result import RunResult
from autograder.session import Grader, Request

from .making import RIGHT_PIN, assert_costs_only, assert_printable, function, hostile, write

PIN = "return tl.max(s, 1)"


def doubling(depth: int) -> str:
    """Helpers that call each other twice: 2 ** depth calls in all."""
    last = "@triton.jit\ndef h0(x):\n    return x + 1.0\n\n\n"
    rest = [f"@triton.jit\ndef h{n}(x):\n    return h{n - 1}(x) + h{n - 1}(x)\n\n\n" for n in range(1, depth + 1)]
    return last + "".join(rest)


ENDLESS = {
    "while": function("pin_ghost_rows", f"while True:\n    s = s\n{PIN}"),
    "static_range": function("pin_ghost_rows", f"for i in tl.static_range(1000000000000):\n    s = s\n{PIN}"),
    "helpers": doubling(40) + function("pin_ghost_rows", f"s = h40(s)\n{PIN}"),
}
TOO_MUCH = {
    "tile": ("x = tl.zeros((1048576, 1048576), tl.float32)", {"compile-error"}),
    "arange": ("x = tl.arange(0, 1073741824)", {"compile-error"}),
    "broadcast": ("x = tl.broadcast_to(s[:, None, :], (32, 1048576, 32))", {"compile-error"}),
    "histogram": ("x = tl.histogram(offs_m, 1073741824)", {"out-of-memory"}),
    "tuple": ("x = (s, s)\nx = x * 1000000000000", {"out-of-memory"}),
    "doubling_tuple": ("x = (s, s)\nfor i in range(60):\n    x = x + x", {"out-of-memory"}),
    "whole_numbers": (
        "x = 1\nfor i in range(60):\n    x = x + x\ny = 3 << x",
        {"out-of-memory", "compile-error", "timeout", "partial"},
    ),
    "squares": ("x = 3\nfor i in range(60):\n    x = x * x", {"partial", "fail", "timeout", "out-of-memory"}),
    "nested_tuple": ("x = (s, s)\nfor i in range(200000):\n    x = (x, x)", {"partial", "crashed"}),
    "deep_helpers": ("s = c1100(s)", {"compile-error", "crashed", "timeout", "out-of-memory"}),
    "division": ("x = 1 // 0", {"compile-error"}),
    "no_step": ("for i in range(0, 9, 0):\n    s = s", {"compile-error"}),
    "next_power": ("x = triton.next_power_of_2(18446744073709551615)", {"compile-error"}),
}


@pytest.fixture
def small_limits(grader: Grader, monkeypatch: pytest.MonkeyPatch) -> None:
    """Small limits, after the solutions were graded with the usual ones."""
    monkeypatch.setitem(session.LIMITS, "cpu", Limits(cpu_seconds=1, wall_seconds=20, memory_bytes=1 << 29))


@pytest.mark.usefixtures("small_limits")
@pytest.mark.parametrize("name", list(ENDLESS))
def test_a_kernel_without_end_is_a_timeout(name: str, attack: Callable[..., RunResult]) -> None:
    found = assert_costs_only(attack(ENDLESS[name]), "ghost_row_pin", {"timeout"})
    assert found.checks[0].message.startswith("The check used up its CPU time.")


@pytest.mark.usefixtures("small_limits")
@pytest.mark.parametrize("name", list(TOO_MUCH))
def test_a_kernel_that_wants_too_much_gets_no_further_than_an_honest_failure(
    name: str, attack: Callable[..., RunResult]
) -> None:
    """Without the line in question this kernel passes one check of weight 1 out of 9."""
    body, outcomes = TOO_MUCH[name]
    chain = "@triton.jit\ndef c0(x):\n    return x\n\n\n" + "".join(
        f"@triton.jit\ndef c{n}(x): return c{n - 1}(x)\n" for n in range(1, 1101)
    )
    text = (chain if name == "deep_helpers" else "") + function("pin_ghost_rows", f"{body}\n{PIN}")
    assert_costs_only(attack(text), "ghost_row_pin", outcomes, at_most=1 / 7)


@pytest.mark.parametrize("names", [("g",), ("g", "h"), ("g", "h", "i", "j")])
def test_functions_that_call_each_other_without_end_are_refused(
    names: tuple[str, ...], attack: Callable[..., RunResult]
) -> None:
    helpers = [
        f"@triton.jit\ndef {name}(x):\n    return {following}(x)\n\n\n"
        for name, following in zip(names, (*names[1:], names[0]))
    ]
    result = attack("".join(helpers) + function("pin_ghost_rows", f"s = g(s)\n{PIN}"))
    assert "call themselves" in assert_costs_only(result, "ghost_row_pin", {"refused"}).message


def test_pieces_that_call_each_other_are_refused_both(attack: Callable[..., RunResult]) -> None:
    text = function("pin_ghost_rows", "s = mask_scores(s, offs_m, offs_m, NSEQ, True)\n" + PIN)
    text += "\n\n" + function("mask_scores", "m = pin_ghost_rows(s, offs_m, NSEQ)\nreturn s - m[:, None]")
    scores = {one.id: (one.outcome, one.score) for one in attack(text).exercises}
    assert scores["ghost_row_pin"] == scores["score_mask"] == ("refused", 0.0)
    assert scores["kernel_loads"] == ("pass", 1.0)
    assert scores["one_shot_attention"] == ("pass", 2.0)


# What the interpreter never reaches, and the compiler does.
COMPILER_BOMBS = {
    "unrolled": function(
        "pin_ghost_rows", f"if NSEQ < 0:\n    for i in tl.static_range(10000000):\n        s = s + 1.0\n{RIGHT_PIN}"
    ),
    "helpers": doubling(30) + function("pin_ghost_rows", f"if NSEQ < 0:\n    s = h30(s)\n{RIGHT_PIN}"),
}


@pytest.fixture(scope="module")
def targeting(course: Course) -> Iterator[Grader]:
    with Grader(course, "cpu", targets="always") as grader:
        yield grader


# Without memory the compiler's passes either end the process or fail.
_TOO_LARGE = "more than the 0.5 GB of memory|loop too large"


@pytest.mark.parametrize(
    ("name", "limits", "outcomes", "words"),
    [
        ("unrolled", Limits(cpu_seconds=1, wall_seconds=20), {"timeout"}, "used up its CPU time"),
        pytest.param(
            *("helpers", Limits(wall_seconds=50, memory_bytes=1 << 29), {"crashed", "compile-error"}, _TOO_LARGE),
            marks=pytest.mark.exhaustive,  # takes a minute and a half
        ),
    ],
)
def test_a_kernel_that_keeps_the_compiler_busy_loses_the_points_for_targets(
    name: str,
    limits: Limits,
    outcomes: set[str],
    words: str,
    targeting: Grader,
    course: Course,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(gpu_targets, "_LIMITS", limits)
    folder = write(tmp_path / "handin", hostile(COMPILER_BOMBS[name]))
    result = targeting.grade(Request(folder, (course.exercise("ghost_row_pin"), course.exercise("score_mask"))))
    assert_printable(result)
    masked, pinned = result.exercises
    [failed] = [check for check in pinned.checks if check.outcome != "pass"]
    assert failed.id == "gpu_targets"
    assert failed.outcome in outcomes
    assert re.search(words, failed.message)
    assert pinned.score < pinned.points
    assert (masked.outcome, masked.score) == ("pass", masked.points)
