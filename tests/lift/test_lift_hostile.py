"""Hostile files: bounded time, no traceback, and nothing executable that was not vetted."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from autograder.lift import lift

from .making import FLASH, HEAD, anything, audit, kernel, lifted, problem

MEGABYTE = 1 << 20


@contextmanager
def within(seconds: float) -> Iterator[None]:
    """Of this process's own: how long it takes by the clock depends on who else is at work."""
    start = time.process_time()
    yield
    assert time.process_time() - start < seconds


@pytest.mark.parametrize(
    "source",
    [
        "(" * 100_000,
        "x = " + "-" * 100_000 + "1",
        "x = a" + ".b" * 100_000,
        "x = " + "1+" * 200_000 + "1",
        "x = " + "not " * 100_000 + "1",
        "if 1:\n pass\n" + "elif 1:\n pass\n" * 30_000,
        "x = " + "1 if 1 else " * 50_000 + "1",
        "x = '''" + "def f(\n" * 100_000,
        "def f(\n" * 140_000,
        "@" * 500_000,
        "@x\n" * 300_000,
        "@triton.jit\ndef f(x):\n  return (\n" * 25_000,
        "a = (\n" * 170_000,
        "x y\n" * 250_000,
        "é" * 500_000,
        "\x0c\n" * 500_000,
        "x = " + "9" * 100_000,
        "def f(x):\n" + "".join(" " * i + "if x:\n" for i in range(1, 120)) + " " * 120 + "pass",
        "\\\n" * 400_000,
        "a;" * 120_000,
        "class A:\n" + "  def f(self): pass\n" * 20_000 + ")",
        "#" * 1_000_000,
        "\ufeff" * 300_000,
        "x = [" + "[" * 150 + "]" * 150 + "]",
        "from triton.language import *\n" * 30_000,
    ],
    ids=lambda source: repr(source[:20]),
)
def test_a_hostile_file_is_done_with_in_seconds(source: str) -> None:
    with within(20):
        file = lift(source, [anything("f", "x")])
        assert "f" in file.problems or "f" in file.functions


@pytest.mark.parametrize(
    ("source", "says"),
    [
        ("x" * (MEGABYTE + 1), "larger than 1 MB"),
        ("é" * (MEGABYTE // 2 + 1), "larger than 1 MB"),
        ("a\nb = '\0'", "UTF-8"),
        ("a\nb = '\ud800'", "UTF-8"),
        ("x = " + "-" * 100_000 + "1", "nested too deeply"),
        ("x = 1\n" * 80_000, "too much code"),
    ],
    ids=range(6),
)
def test_what_cannot_be_read_at_all_is_refused_for_every_wanted_function(source: str, says: str) -> None:
    file = lift(source, [anything("f"), anything("g")])
    assert set(file.problems) == {"f", "g"}
    assert {one.outcome for one in file.problems.values()} == {"refused"}
    assert says in file.problems["f"].message


def test_a_stray_byte_is_named_by_its_line() -> None:
    assert lift("a\nb\nc\0", [anything("f")]).problems["f"].line == 3


@pytest.mark.parametrize("depth", [80, 150, 500])
def test_deep_code_is_lifted_or_refused(depth: int) -> None:
    for text in ("n" + " + n" * depth, "-" * depth + "n", "(" * depth + "n" + ")" * depth, "n" + ".T" * depth):
        file = lifted(kernel(f"x = {text}"))
        assert (
            "f" in file.functions
            or "nested too deeply" in file.problems["f"].message
            or "cannot read" in (file.problems["f"].message)
        )


def test_an_exponential_call_graph_costs_only_its_size() -> None:
    names = 2_000
    parts = [f"@triton.jit\ndef f{i}(x):\n    return f{i + 1}(x) + f{i + 1}(x)\n" for i in range(names)]
    source = HEAD + "\n".join(parts) + f"@triton.jit\ndef f{names}(x):\n    return x\n"
    with within(20):
        file = lift(source, [anything("f0", "x")])
        assert file.reachable(["f0"]) == tuple(f"f{i}" for i in range(names + 1))
        assert file.problem_of(["f0"]) is None
        audit(file.module(["f0"]))


@pytest.mark.parametrize(
    ("calls", "says"),
    [
        ({"f": "f"}, "`f` calls `f`"),
        ({"f": "g", "g": "f"}, "`f` calls `g` calls `f`"),
        ({"f": "g", "g": "h", "h": "f"}, "calls"),
        ({"f": "g", "g": "g"}, "`g` calls `g`"),
    ],
)
def test_recursion_is_refused_and_the_circle_named(calls: dict[str, str], says: str) -> None:
    parts = [f"@triton.jit\ndef {name}(x):\n    return {other}(x)\n" for name, other in calls.items()]
    found = lift(HEAD + "\n".join(parts), [anything("f", "x")]).problem_of(["f"])
    assert found is not None
    assert found.outcome == "refused"
    assert says in found.message


def test_a_long_circle_and_a_long_chain() -> None:
    chain = "\n".join(f"@triton.jit\ndef f{i}(x):\n    return f{(i + 1) % 3000}(x)\n" for i in range(3000))
    with within(20):
        file = lift(HEAD + chain, [anything("f0", "x")])
        assert "f0" in file.problems
        assert not file.functions


@pytest.mark.parametrize(
    "text",
    [
        '"""\ndef evil(): pass\n"""',
        "'''\n    def evil(): pass\n'''",
        '"""\\\ndef evil(): pass"""',
        '"a\\\ndef evil(): pass"',
        '("a"\n"def evil(): pass")',
        '"""\u2028def evil(): pass"""',
    ],
)
def test_no_text_can_put_a_def_where_tritons_interpreter_looks_for_one(text: str) -> None:
    for statement in (text, f"n = 1\n{text}", f"print({text})", f"tl.device_print({text}, n)", f"x: {text} = n"):
        source = kernel(f"{statement}\nreturn n")
        module = lifted(source).module(["f"])
        audit(module)
        assert "evil" not in module
    for statement in (f"x = {text}", f"x = tl.load(x_ptr, other={text})", f"x = tl.load(x_ptr, cache_modifier={text})"):
        assert problem(kernel(statement)).outcome == "refused"


def test_comments_cannot_carry_a_coding_line_or_a_def() -> None:
    source = "@triton.jit\ndef f(x):  # coding: utf-7\n    # def evil(): pass\n    return x  # \u2028def evil(): pass\n"
    module = lifted(source).module(["f"])
    audit(module)
    assert module.startswith("@triton.jit\ndef f(x):\n\n    return x\n")


def test_a_name_of_a_megabyte_makes_no_long_message() -> None:
    name = "a" * 500_000
    for source in (kernel(f"return {name}"), kernel(f"{name}()"), kernel(f"return n.{name}"), kernel(f"tl.{name}()")):
        assert len(problem(source).message) < 300


def test_text_about_the_lift_is_never_run(tmp_path) -> None:  # type: ignore[no-untyped-def]
    trap = tmp_path / "trap"
    source = f"open({str(trap)!r}, 'w')\n" + FLASH.replace(
        "@triton.jit", f"@triton.jit(debug=open({str(trap)!r}, 'w'))"
    )
    file = lift(source, [])
    assert set(file.functions) == {"scores", "update", "flash"}
    exec(compile(file.module(["flash"]), "s", "exec"), {"triton": _Fake(), "tl": _Fake()})
    assert not trap.exists()


class _Fake:
    """Stands for triton where only definitions are executed."""

    float32 = None

    def jit(self, function: object) -> object:
        return function

    def constexpr(self, value: object) -> object:
        return value


@pytest.mark.parametrize("place", ["    return x + {}\n", "    y = {}\n    return x\n", "    return x\n\nTOP = {}\n"])
def test_a_whole_number_of_thousands_of_digits_is_refused_like_any_other_that_is_too_large(place: str) -> None:
    for number in ("0x" + "f" * 5000, "0b1" + "0" * 20_000, "0x" + "f" * 17):
        file = lift(HEAD + "@triton.jit\ndef f(x):\n" + place.format(number), [anything("f", "x")])
        if "TOP" not in place:
            assert file.problems["f"].outcome == "refused"
    default = lift(HEAD + f"@triton.jit\ndef f(x=0x{'f' * 5000}):\n    return x\n", [anything("f", "x")])
    assert "f" in default.problems
