"""Line numbers are the student's, whatever line ends, margins and odd characters the file has."""

from __future__ import annotations

import ast
import types

import pytest

from .making import FLASH, HEAD, audit, kernel, lifted


def functions(code: types.CodeType) -> dict[str, types.CodeType]:
    return {one.co_name: one for one in code.co_consts if isinstance(one, types.CodeType)}


def test_kept_lines_are_the_students_but_for_the_edits() -> None:
    text = lifted(FLASH, "flash").module(["flash"])
    before, after = FLASH.split("\n"), text.split("\n")
    kept = [(old, new) for old, new in zip(before, after, strict=False) if new]
    changed = {new.strip() for old, new in kept if old.split("  #")[0] != new}
    assert changed == {
        "pass",
        "def flash(q_ptr, k_ptr, v_ptr, o_ptr, n, scale, BLOCK: tl.constexpr, D: tl.constexpr=16):",
        "offs_m = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)",
    }
    assert len(kept) == 36


@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
@pytest.mark.parametrize("bom", ["", "\ufeff"])
@pytest.mark.parametrize("margin", ["    ", "\t", "  \t"])
def test_every_function_begins_on_its_own_line(end: str, bom: str, margin: str) -> None:
    source = bom + FLASH.replace("    ", margin).replace("\n", end)
    file = lifted(source, "flash")
    text = file.module(["flash"])
    audit(text)
    code = functions(compile(text, "student.py", "exec"))
    rows = FLASH.split("\n")
    for name in ("scores", "update", "flash"):
        define = next(i for i, row in enumerate(rows, 1) if row.startswith(f"def {name}("))
        assert code[name].co_firstlineno == define - 1
        assert file.functions[name].line == define
    assert text.count("\n") >= len(rows) - 1
    loop = rows.index("    for start in range(0, n, BLOCK):") + 1
    assert any(isinstance(node, ast.For) and node.lineno == loop for node in ast.walk(ast.parse(text)))


@pytest.mark.parametrize("odd", ["\u2028", "\u2029", "\x0c", "\x0b", "\x1c", "\x1d", "\x1e", "\x85", "é", "😀"])
def test_characters_that_only_some_take_for_line_ends_do_not_shift_lines(odd: str) -> None:
    source = kernel(
        f'"""a{odd}b"""\n# c{odd}def evil(): pass\nx = n  # d{odd}e\nprint("{odd}")\nreturn x',
        above=f'"""top{odd}"""\n# {odd}\nS = "{odd}"\n',
    )
    text = lifted(source).module(["f"])
    audit(text)
    assert text.split("\n").index("    x = n") == source.split("\n").index(f"    x = n  # d{odd}e")
    assert text.splitlines() == text.split("\n")[:-1]


def test_form_feeds_in_code_are_what_python_takes_them_for() -> None:
    source = HEAD + "\x0c@triton.jit\n\x0cdef f(x):\n \x0c    y =\x0cx\n    \x0c\n    return y\x0c\n"
    file = lifted(source)
    assert file.problem_of(["f"]) is None
    rows = file.module(["f"]).split("\n")
    assert rows[4:9] == ["@triton.jit", "def f(x):", "    y = x", "", "    return y"]


@pytest.mark.parametrize(
    "header",
    [
        "def f(x): return x",
        "def f(x): y = x; return y;",
        "def f(x): \\\n    return x",
        "def f(\n    x,  # (: é\n):\n\n    # comment\n    return x",
        "def f(x,\n      y=3) -> (\n    int): return x",
        "def \\\n  f \\\n  (x):\n    return x",
        "def f(x:\n  'a: (b)' = 3):\n        return x",
        "def f(x):\n\treturn x",
        "def f(\nx\n): x = 1; return (\nx)",
    ],
)
def test_headers_of_any_layout_keep_the_lines_of_the_body(header: str) -> None:
    source = f"{HEAD}@triton.jit\n# between\n\n{header}\n"
    file = lifted(source)
    assert file.problem_of(["f"]) is None, file.problem_of(["f"])
    text = file.module(["f"])
    audit(text)
    before = [node.lineno for node in ast.walk(ast.parse(source)) if isinstance(node, ast.Return)]
    after = [node.lineno for node in ast.walk(ast.parse(text)) if isinstance(node, ast.Return)]
    assert before == after
    assert functions(compile(text, "s", "exec"))["f"].co_firstlineno == 5


@pytest.mark.parametrize(
    "statement",
    [
        "x = tl.\\\n    load(x_ptr)",
        "x = (tl\n    .load)(x_ptr)",
        "x = language.\\\n  math.\\\n  exp(n) + \\\n  language.exp(n)",
        "x = (language\n  # é\n  .exp(n))",
        'x = tl.dot(n, n, input_precision="ie"\n   "ee")',
        'x = tl.dot(n, n, input_precision=("ie"  # no "#"\n   "ee"))',
        'x = tl.dot(n, n, input_precision="""ieee""")',
        'x = tl.dot(n, n, input_precision="\\x69eee")',
        "x = float('in' 'f')",
        "x: \\\n  int \\\n  = \\\n  3",
        "x: tl.constexpr = \\\n  3",
        "x: (  # = \n tl.constexpr\n) = (\n3)",
        'print("a"\n  "b"); x = 3',
        '"""a\n"""; x = 3',
        "x = 3; '''a\ndef evil(): pass\n'''",
    ],
)
def test_statements_that_span_lines_stay_where_they_are(statement: str) -> None:
    source = kernel(f"{statement}\nreturn n", above="import triton.language as language\n")
    file = lifted(source)
    assert file.problem_of(["f"]) is None, file.problem_of(["f"])
    text = file.module(["f"])
    audit(text)
    row = source.split("\n").index("    return n")
    assert text.split("\n")[row] == "    return n"
    assert all(line.isascii() for line in text.split("\n"))


def test_the_module_has_as_many_lines_as_the_file() -> None:
    for source in (FLASH, FLASH.removesuffix("\n"), FLASH + "\n\n\n"):
        file = lifted(source, "flash")
        assert file.module(["flash"]).count("\n") == file.module(["course_calls"], {"flash"}).count("\n")


def test_a_compact_module_is_the_same_wherever_its_functions_stand() -> None:
    plain = lifted(FLASH, "flash")
    moved = lifted("# mine\n\n\n" + FLASH.replace("\n\n\n", "\n\n\n# and more\n\n\n"), "flash")
    first, second = plain.compact(["flash"]), moved.compact(["flash"])
    assert first.text == second.text
    assert "\n\n" not in first.text
    for module, whole in ((first, plain.module(["flash"])), (second, moved.module(["flash"]))):
        rows = whole.split("\n")
        for number, row in enumerate(module.text.split("\n")[:-1], start=1):
            line = module.student_line(number)
            assert line is not None
            assert rows[line - 1] == row
    assert first.student_line(None) is None
    assert first.student_line(0) is None
    assert first.student_line(10_000) is None
