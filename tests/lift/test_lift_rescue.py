"""A file that does not parse: only the functions that do not parse are lost."""

from __future__ import annotations

import pytest

from autograder.lift import lift

from .making import FLASH, HEAD, anything, audit

GOOD = """@triton.jit
def good(x):
    return tl.exp(x) * K


"""
LATER = GOOD.replace("good", "later")
CONSTANT = "K = tl.constexpr(3)\n\n\n"


@pytest.mark.parametrize(
    "broken",
    [
        "@triton.jit\ndef bad(x):\n    return (x\n",
        "@triton.jit\ndef bad(x):\n    return x)\n",
        "@triton.jit\ndef bad(x)\n    return x\n",
        "@triton.jit\ndef bad(x:\n    return x\n",
        '@triton.jit\ndef bad(x):\n    """never closed\n    return x\n',
        "@triton.jit\ndef bad(x):\n    y = 'never closed\n    return x\n",
        "@triton.jit\ndef bad(x):\n    y = [1, {2, (3\n    return x\n",
        "@triton.jit\ndef bad(x):\n    if x:\n        y = 1\n\treturn x\n",
        "@triton.jit\ndef bad(x):\n    return x\n   y = 1\n",
        "@triton.jit\ndef bad(x):\nreturn x\n",
        "@triton.jit\ndef bad(x):\n",
        "@triton.jit\ndef bad(x):\n    x = = 3\n",
        "@triton.jit\ndef bad(x):\n    x = 3 $ 4\n",
        "@triton.jit\ndef bad(x):\n    return x\n    else:\n        pass\n",
        "@triton.jit(\ndef bad(x):\n    return x\n",
        "@triton.jit\ndef bad(x, x):\n    return lambda: (yield)) \n",
        "@triton.jit\ndef bad(x):\n    x = 0777\n",
    ],
)
def test_one_broken_function_costs_only_itself(broken: str) -> None:
    source = HEAD + CONSTANT + GOOD + broken + "\n\n" + LATER
    file = lift(source, [anything("good", "x"), anything("bad", "x"), anything("later", "x")])
    assert set(file.problems) == {"bad"}
    found = file.problems["bad"]
    assert found.outcome == "compile-error"
    assert found.line is not None
    first = source.split(broken)[0].count("\n") + 1
    assert first <= found.line <= first + broken.count("\n") + 3
    assert found.message.startswith("Python cannot read")
    text = file.module(["good", "later"])
    audit(text)
    rows, kept = source.split("\n"), text.split("\n")
    assert kept.index("def later(x):") == rows.index("def later(x):")
    assert kept.index("K = tl.constexpr(3)") == rows.index("K = tl.constexpr(3)")


@pytest.mark.parametrize("garbage", ["hello world, this is no Python", "x = (", "import", ")", "!!!", "x = 3 +"])
def test_garbage_between_functions_costs_none_of_them(garbage: str) -> None:
    source = f"{HEAD}{CONSTANT}{GOOD}{garbage}\n\n{LATER}{garbage}\n"
    file = lift(source, [anything("good", "x"), anything("later", "x")])
    if garbage[0] in ")!":
        assert set(file.problems) <= {"good", "later"}  # a stray sign may as well belong to the function above
    else:
        assert not file.problems
        audit(file.module(["good", "later"]))


def test_garbage_before_everything_leaves_imports_and_constants() -> None:
    source = "this is nothing\nimport triton as T\nimport triton.language as L\nA = = 3\nK = L.constexpr(4)\n"
    file = lift(f"{source}\n@T.jit\ndef f(x):\n    return L.exp(x) * K\n", [anything("f", "x")])
    assert not file.problems
    assert "K = tl.constexpr(4)" in file.module(["f"])


def test_line_numbers_inside_pythons_messages_are_the_files() -> None:
    source = HEAD + "\n" * 50 + "@triton.jit\ndef bad(x):\n    y = '''never closed\n\n\n"
    found = lift(source, [anything("bad", "x")]).problems["bad"]
    assert found.line == 57
    assert "line 5" in found.message or "line 6" in found.message


def test_the_last_definition_counts_even_if_it_is_broken() -> None:
    source = HEAD + CONSTANT + GOOD + GOOD.replace("K\n", "K)\n")
    assert lift(source, [anything("good", "x")]).problems["good"].outcome == "compile-error"
    source = HEAD + CONSTANT + GOOD.replace("K\n", "K)\n") + GOOD
    assert not lift(source, [anything("good", "x")]).problems


def test_lines_at_the_margin_inside_brackets_and_texts_do_not_cut_a_function() -> None:
    tricky = '@triton.jit\ndef tricky(x):\n    """\nTitle\nx = softmax(y)\n    """\n    return (\nx\n)\n\n\n'
    file = lift(HEAD + tricky + "def broken(:\n    pass\n", [anything("tricky", "x")])
    assert not file.problems


def test_a_broken_helper_is_the_callers_problem() -> None:
    source = HEAD + "@triton.jit\ndef g(x):\n    return (x\n\n@triton.jit\ndef f(x):\n    return g(x)\n"
    file = lift(source, [anything("f", "x")])
    found = file.problem_of(["f"])
    assert found is not None
    assert found.outcome == "compile-error"


@pytest.mark.parametrize("cut", range(0, len(FLASH), 97))
def test_any_prefix_of_a_file_lifts_what_is_whole_in_it(cut: str) -> None:
    file = lift(FLASH[:cut], [])  # type: ignore[index]
    for name in file.functions:
        if file.problem_of([name]) is None:
            audit(file.module([name]))
