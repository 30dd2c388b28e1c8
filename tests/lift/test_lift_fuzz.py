"""Random and mutated files: the lift never raises, and what it lets through passes an audit of its own."""

from __future__ import annotations

import ast
import gc
import sys
import textwrap
from concurrent.futures import ThreadPoolExecutor

from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from autograder.lift import LiftedFile, lift

from .making import FLASH, anything, audit
from .test_lift_refusals import REFUSED

WANTED = [anything("scores", "q", "k", "scale", "offs_n", "n"), anything("flash"), anything("missing")]
PROFILE = settings(max_examples=150, deadline=None, suppress_health_check=list(HealthCheck))

# Pieces that have a meaning to Python, to Triton's interpreter, or to some reader of lines.
PIECES = [
    *REFUSED,
    *"()[]{}:,;=.@\\#'\"\n\r\t\f\v\x1c\x85\u2028\0\ufeff",
    "'''",
    '"""',
    "...",
    "\ndef evil(): pass\n",
    "def ",
    "@triton.jit\n",
    "import os\n",
    "__class__",
    "tl",
    "tl.",
    "lambda: 0",
    "é",
    "ｌ",
    "\ud800",
    "if n:\n    ",
    "    ",
    "\n    ",
    "print(",
    "interpreter_builder",
    "**",
    "<<",
    "9" * 30,
    "K = tl.constexpr(",
    " \\\n",
    "global tl\n",
    ": tl.constexpr = ",
]


def check(file: LiftedFile) -> None:
    """Every function is fine or has a problem, and all that is fine makes a module that passes the audit."""
    for wanted in WANTED:
        assert (wanted.name in file.functions) != (wanted.name in file.problems)
    for found in file.problems.values():
        assert found.outcome in {"refused", "compile-error", "not-started"}
        assert found.message
        assert found.line is None or found.line >= 1
    fine = [name for name in file.functions if file.problem_of([name]) is None]
    text = file.module(fine)
    audit(text)
    assert {node.name for node in ast.parse(text).body if isinstance(node, ast.FunctionDef)} == set(fine)


@PROFILE
@given(st.text())
def test_any_text(source: str) -> None:
    check(lift(source, WANTED))


@PROFILE
@given(st.lists(st.one_of(st.sampled_from(PIECES), st.text(max_size=5)), max_size=40))
def test_any_sequence_of_pieces(pieces: list[str]) -> None:
    check(lift("".join(pieces), WANTED))


@PROFILE
@given(st.lists(st.tuples(st.integers(0, len(FLASH)), st.integers(0, 30), st.sampled_from(PIECES)), max_size=4))
@example([(FLASH.index("    s = tl"), 0, "    '''\ndef evil(): pass\n'''\n")])
def test_a_real_file_with_pieces_put_in_and_cut_out(edits: list[tuple[int, int, str]]) -> None:
    source = FLASH
    for place, length, piece in edits:
        source = source[:place] + piece + source[place + length :]
    check(lift(source, WANTED))


ROWS = FLASH.split("\n")


@PROFILE
@given(st.lists(st.tuples(st.integers(0, len(ROWS)), st.sampled_from([*REFUSED, *ROWS])), max_size=5), st.booleans())
def test_a_real_file_with_whole_statements_put_in(inserts: list[tuple[int, str]], drop: bool) -> None:
    rows = list(ROWS)
    for place, statement in inserts:
        near = rows[min(place, len(rows) - 1)]
        margin = near[: len(near) - len(near.lstrip())]
        rows[place : place + drop] = [margin + row for row in statement.split("\n")]
    check(lift("\n".join(rows), WANTED))


@PROFILE
@given(st.data())
def test_the_syntax_tree_of_a_real_file_with_nodes_exchanged(data: st.DataObject) -> None:
    tree = ast.parse(FLASH)
    others = [node for text in REFUSED for node in ast.walk(ast.parse("async def f():\n" + textwrap.indent(text, " ")))]
    expressions = [node for node in [*others, *ast.walk(tree)] if isinstance(node, ast.expr)]
    for _ in range(data.draw(st.integers(1, 3))):
        parent = data.draw(st.sampled_from([node for node in ast.walk(tree) if isinstance(node, ast.Call | ast.BinOp)]))
        field = data.draw(
            st.sampled_from([name for name in parent._fields if isinstance(getattr(parent, name), ast.expr)])
        )
        new = data.draw(st.sampled_from(expressions))
        if parent not in ast.walk(new):
            setattr(parent, field, new)
    try:
        source = ast.unparse(tree)
    except (ValueError, RecursionError):
        return
    check(lift(source, WANTED))


class _Busy:
    """Garbage whose end takes long enough for another thread to have its turn."""

    def __init__(self) -> None:
        self.me = self

    def __del__(self) -> None:
        for _ in range(50):
            pass


def test_several_threads_lift_at_once() -> None:
    """CPython 3.11 mixes up the depths of trees that two threads build (python/cpython#106905)."""
    nested = "x + (" * 60 + "x" + ")" * 60
    source = "".join(f"@triton.jit\ndef f{number}(x):\n    return {nested}\n\n\n" for number in range(6))
    text = f"import triton\nimport triton.language as tl\n\n\n{source}"

    def work(_: int) -> int:
        for _ in range(20):
            _Busy()
        return len(lift(text, []).functions)

    thresholds, interval = gc.get_threshold(), sys.getswitchinterval()
    try:
        gc.set_threshold(10, 1, 1)
        sys.setswitchinterval(1e-6)
        with ThreadPoolExecutor(6) as executor:
            found = list(executor.map(work, range(60)))
    finally:
        gc.set_threshold(*thresholds)
        sys.setswitchinterval(interval)
    assert set(found) == {6}
