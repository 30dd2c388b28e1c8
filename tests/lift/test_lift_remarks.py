"""What costs nothing and is remarked on: what is left out, and what Python reads otherwise than it is meant."""

from __future__ import annotations

import pytest

from autograder.lift import Wanted, lift

HEAD = "import triton\nimport triton.language as tl\n\n\n@triton.jit\ndef f(a, b, n):\n"


def remarks(line: str) -> list[tuple[int, str]]:
    found = lift(f"{HEAD}    x = a\n    {line}\n    return x\n", [Wanted("f", ("a", "b", "n"), frozenset())])
    assert not found.problems
    return [(remark.line, remark.message) for remark in found.remarks]


@pytest.mark.parametrize(
    ("line", "joined"),
    [
        ("x = a < n & b < n", "n & b"),
        ("x = a[:, None] < n & b[None, :] < n", "n & b[None, :]"),
        ("x = tl.where(a >= 0 | b == n, a, b)", "0 | b"),
        ("x = a < n & b < n & a >= b", "n & b"),
        ("x = (a < n) & b < n", "(a < n) & b"),
        ("x = a < n & (b < n)", "n & (b < n)"),
    ],
)
def test_a_comparison_without_its_parentheses_is_remarked_on(line: str, joined: str) -> None:
    (number, message), *_ = remarks(line)
    assert number == 8
    assert f"this line compares with `{joined}`. Put parentheses around each comparison." in message


@pytest.mark.parametrize(
    "line",
    [
        "x = (a < n) & (b < n)",
        "x = (a < n) | (b < n) & (a >= b)",
        "x = a < b < n",
        "x = a & 1 == 0",
        "x = (a & 1) == (b & 1)",
        "x = 0 <= a + b < n",
        "x = ((a < n) & (b < n)) == 0",
    ],
)
def test_what_may_be_meant_is_not(line: str) -> None:
    assert remarks(line) == []


def test_what_a_kernel_prints_is_said_to_be_left_out() -> None:
    assert remarks("print(x)") == [(8, "`print` is left out while grading, so that nothing of it is shown.")]
    assert remarks("tl.static_assert(True)") == [(8, "`tl.static_assert` is left out while grading.")]
