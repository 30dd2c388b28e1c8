"""What is accepted, however it is spelled, and the one form in which it leaves the lift."""

from __future__ import annotations

import pytest

from autograder.lift import Wanted, lift

from .making import FLASH, HEAD, anything, audit, body, kernel, lifted


@pytest.mark.parametrize(
    ("imports", "decorator", "load"),
    [
        ("import triton\nimport triton.language as tl", "triton.jit", "tl.load"),
        ("import triton\nimport triton.language as language", "triton.jit", "language.load"),
        ("import triton\nfrom triton import language as tl", "triton.jit()", "tl.load"),
        ("import triton as tr\nimport triton.language as tl", "tr.jit", "tl.load"),
        ("import triton.language", "triton.jit", "triton.language.load"),
        ("from triton import jit\nimport triton.language as tl", "jit", "tl.load"),
        ("from triton import jit as kernel\nfrom triton.language import load as fetch", "kernel", "fetch"),
        ("import triton\nfrom triton.language import *", "triton.jit", "load"),
        ("import triton\ntl = triton.language", "triton.jit", "tl.load"),
        (
            "try:\n    import triton as T\nexcept ImportError:\n    pass\nimport triton.language as tl",
            "T.jit",
            "tl.load",
        ),
        ("from triton.runtime.jit import jit\nimport triton.language as tl", "jit", "tl.load"),
        ("import triton\nimport triton.language as tl", "triton.jit(\n    noinline=True\n)", "tl.load"),
        ("import triton\nimport triton.language as tl", "triton . jit", "tl . \\\n   load"),
        ("", "triton.jit", "tl.load"),
    ],
)
def test_imports_and_decorators_have_one_spelling_afterwards(imports: str, decorator: str, load: str) -> None:
    source = f"{imports}\n\n@{decorator}\ndef f(x_ptr):\n    x = {load}(x_ptr)\n    return x\n"
    text = body(source).replace("\\\n", "")
    assert text.startswith("@triton.jit\ndef f(x_ptr):\n    x = ")
    assert "".join(text.split()) == "@triton.jitdeff(x_ptr):x=tl.load(x_ptr)returnx"


@pytest.mark.parametrize(
    "annotation",
    ["tl.constexpr", '"tl.constexpr"', "language.constexpr", "triton.language.constexpr", "ce", "tl.core.constexpr"],
)
def test_every_spelling_of_a_constexpr_hint_is_kept_as_one(annotation: str) -> None:
    imports = "import triton.language as language\nfrom triton.language import constexpr as ce\n"
    source = kernel("return B", above=imports, parameters=f"x: int, B: {annotation}, y: 'float' = 1")
    assert "def f(x, B: tl.constexpr, y=1):" in body(source)


@pytest.mark.parametrize(
    "statement",
    [
        "x = tl.load(x_ptr + tl.arange(0, B), mask=tl.arange(0, B) < n, other=0.0)",
        "x = float('-inf')",
        'x = -float("inf") * float("nan")',
        "while n > 0:\n    n -= 1",
        "for i in tl.static_range(0, 4):\n    n += i",
        "for i in tl.static_range(0, 4):\n    pass\nn += i",
        "for i in range(0, 4):\n    pass\ni = n\nn += i",
        "for i in range(0, 4):\n    n += i\nfor i in range(0, 4):\n    n -= i",
        "i = 0\nfor j in range(i, 4):\n    for i in range(0, 4):\n        n += i",
        "for j in range(4):\n    i = j\n    x = i\n    for i in range(0, 4):\n        n += i",
        "for i in range(4):\n    pass\nif B:\n    i = 1\nif not B:\n    i = 2\nn += i",
        "for i in range(4):\n    pass\nif B:\n    i = 1\nelse:\n    i = 2\nn += i",
        "for i in range(4):\n    pass\nif not B:\n    i = 1\nn += 1\nif not B:\n    n += i",
        "for i in tl.range(0, n, B, num_stages=2):\n    n += i",
        "for _ in range(3):\n    pass",
        "if n > 1 and B == 2 or not n:\n    x = 1\nelif 0 < n <= 3:\n    x = 2\nelse:\n    x = 3",
        "x = 1 if n > 2 else -2",
        "x, (y, z) = n, (1, 2)",
        "x = tl.arange(0, B)[:, None] * tl.arange(0, B)[None, :]",
        "x = tl.dot(tl.zeros((B, B), tl.float32), tl.zeros([B, B], dtype=tl.float16).to(tl.float32), allow_tf32=False)",
        "x = tl.zeros((B, B), tl.float32).T.sum(1).to(x_ptr.dtype.element_ty)",
        "x = n.to(x_ptr.type.element_ty)",
        "x = tl.math.exp(tl.math.log2(n + 0.0))",
        "x = triton.cdiv(n, B) + tl.cdiv(n, B) + triton.next_power_of_2(B)",
        "tl.store(x_ptr, n, eviction_policy='evict_last', cache_modifier='.cg')",
        "x = min(n, max(B, int(3)), len((1, 2)))",
        "x: tl.constexpr = B * 2",
        "x = n ** 2 + 2 ** 0.5 + (1 << 10) + 0xFFFF_FFFF",
        "x = n is None or B is not True",
        "x = (1, 2)[0]",
        "x = tl.zeros((B,), tl.float32).shape[0]",
        "tl.debug_barrier()",
        "tl.assume(n > 0)",
        "x = tl.maximum(n, 0, propagate_nan=tl.PropagateNan.ALL)",
        "return",
        "return n, B",
        "x = not ~n",
        "max_, sum = 1, 2",
    ],
)
def test_ordinary_code_lifts_as_it_stands(statement: str) -> None:
    lines = body(kernel(statement)).split("\n")
    assert lines == [
        "@triton.jit",
        "def f(x_ptr, n, B: tl.constexpr):",
        *("    " + row for row in statement.split("\n")),
    ]


@pytest.mark.parametrize(
    ("value", "written"),
    [
        ("tl.constexpr(3)", "3"),
        ("tl.constexpr(-1.5e3)", "-1500.0"),
        ("tl.constexpr(2 ** 10 - 1)", "1023"),
        ("tl.constexpr(1 / 4)", "0.25"),
        ('tl.constexpr(float("-inf"))', 'float("-inf")'),
        ('-float("inf")', 'float("-inf")'),
        ('tl.constexpr(float("nan"))', 'float("nan")'),
        ("tl.constexpr(-math.inf)", 'float("-inf")'),
        ("tl.constexpr(math.log2(math.e))", "1.4426950408889634"),
        ("tl.constexpr(True)", "True"),
        ("tl.constexpr(OTHER * 2)", "128"),
        ("tl.constexpr(PLAIN + 1)", "8"),
        ("OTHER", "64"),
        ("3", "3"),
        ("triton.language.constexpr(\n    3\n)", "3"),
        ("tl.constexpr(~7 & 0xFF | 1 << 3)", "248"),
    ],
)
def test_constants_are_computed_and_written_one_way(value: str, written: str) -> None:
    above = f"import math\nOTHER = tl.constexpr(64)\nPLAIN = 7\nNAME: tl.constexpr = {value}\n"
    source = kernel("return n * NAME", above=above)
    assert body(source).startswith(f"NAME = tl.constexpr({written})\n@triton.jit")
    assert lifted(source).functions["f"].constants == ("NAME",)


def test_the_last_definition_of_a_constant_and_of_a_function_counts() -> None:
    first = "N = tl.constexpr(1)\n\n@triton.jit\ndef f(x):\n    return N + 1\n\n"
    second = "N = 5\nN = tl.constexpr(2)\n\n@triton.jit\ndef f(x):\n    return N + 2\n"
    assert body(HEAD + first + second) == "N = tl.constexpr(2)\n@triton.jit\ndef f(x):\n    return N + 2"


@pytest.mark.parametrize(
    "value", ['"ieee"', "tl.constexpr('ieee')", "EARLIER", "tl.constexpr(EARLIER)", '"""ie" "ee"""'.replace('"""', '"')]
)
@pytest.mark.parametrize(
    "use",
    [
        "tl.dot(n, n, input_precision=NAME)",
        "tl.dot(n, n, None, NAME)",
        "tl.dot(n, n, input_precision=NAME if B else 'tf32')",
        "g(n, NAME)",
        "g(n, precision=NAME)",
    ],
)
def test_a_constant_may_hold_a_text_for_an_option(value: str, use: str) -> None:
    above = (
        f"EARLIER = 'ieee'\nNAME: tl.constexpr = {value}\n@triton.jit\ndef g(x, precision: tl.constexpr):\n    pass\n"
    )
    text = body(kernel(f"return {use}", above=above))
    assert text.startswith('NAME = tl.constexpr("ieee")\n@triton.jit')


@pytest.mark.parametrize(
    "statement",
    [
        "x = tl.dot(n, n, None, 'ieee')",
        "p: tl.constexpr = 'tf32x3'\nx = tl.dot(n, n, input_precision=p)",
        "x = tl.dot(n, n, input_precision='tf32' if B > 16 else 'ieee')",
        "x = g(n, 'ieee')",
        "x = g(n, precision='ieee')",
    ],
)
def test_texts_may_stand_where_they_come_to_an_option(statement: str) -> None:
    above = "@triton.jit\ndef g(x, precision: tl.constexpr):\n    pass\n"
    assert body(kernel(statement, above=above)).endswith(statement.replace("\n", "\n    "))


def test_defaults_of_texts_and_infinities_are_kept() -> None:
    text = body(
        kernel("pass", parameters='x, precision: "tl.constexpr" = "ieee", fill=-float("inf"), y=float(\n"nan")')
    )
    assert "def f(x, precision: tl.constexpr=tl.constexpr('ieee'), fill=-float('inf'), y=float('nan')):" in text


def test_several_constants_on_one_line_and_chained_ones() -> None:
    above = "A = tl.constexpr(1); B_ = C = tl.constexpr(2)\n"
    text = body(kernel("return A + B_ + C", above=above))
    assert text.startswith("A = tl.constexpr(1); B_ = tl.constexpr(2); C = tl.constexpr(2)\n")


@pytest.mark.parametrize("kind", ["FLASH", "stub"])
def test_a_docstring_is_replaced(kind: str) -> None:
    source = kernel('"""Only a docstring."""') if kind == "stub" else FLASH
    text = body(source, "f" if kind == "stub" else "scores")
    assert "docstring" not in text
    assert "evil" not in text
    assert "    pass" in text


@pytest.mark.parametrize(
    "statement",
    [
        "print(n)",
        "print(\n    'hello',\n    open('/etc/passwd'),\n)",
        "tl.device_print('x', n)",
        "tl.static_print(f'{n}')",
        "tl.static_assert(B > 0, 'text')",
        "tl.device_assert(n > 0, 'def evil(): pass')",
        "assert n > 0, __import__('os')",
    ],
)
@pytest.mark.parametrize("frame", ["{}", "x = 1; {}", "{}; x = 1", "if n:\n    {}\nx = 2", "x = 1; {}; x = 2  # def a"])
def test_debugging_lines_vanish_with_a_remark(statement: str, frame: str) -> None:
    inner = statement.replace("\n", "\n    ")
    source = kernel(frame.format(inner) + "\nreturn n")
    text = body(source)
    assert not any(word in text for word in ("print", "assert", "open", "hello", "import"))
    assert text.count("pass") == 1
    file = lifted(source)
    line = next(i for i, row in enumerate(source.split("\n"), 1) if "print" in row or "assert" in row)
    assert [remark.line for remark in file.remarks] == [line]
    assert file.module(["f"]).split("\n")[source.split("\n").index("    return n")] == "    return n"


def test_a_redefined_print_is_no_print() -> None:
    source = HEAD + "def print(x):\n    pass\n\n@triton.jit\ndef f(x):\n    print(x)\n"
    assert "add @triton.jit above `def print`" in lifted(source).problem_of(["f"]).message  # type: ignore[union-attr]


def test_plain_hints_go_and_the_value_stays() -> None:
    statement = (
        "acc: tl.tensor = n\nk: 'tl.tensor'  =  (  # a = b\n    n)\nz: (\n   int  # = \n) = 3\nw: int\nreturn acc"
    )
    text = body(kernel(statement))
    assert "tl.tensor" not in text
    assert "int" not in text
    assert "    acc = n\n    k =  (\n        n)\n" in text
    assert "    pass\n" in text


def test_a_wanted_function_with_its_own_signature_lifts() -> None:
    wanted = [
        Wanted("flash", ("q_ptr", "k_ptr", "v_ptr", "o_ptr", "n", "scale", "BLOCK", "D"), frozenset({"BLOCK", "D"}))
    ]
    file = lift(FLASH, wanted)
    assert not file.problems
    assert file.functions["flash"].calls == ("scores", "update")
    assert file.functions["flash"].constants == ("NEG_INF",)
    assert file.reachable(["flash"]) == ("flash", "scores", "update")
    audit(file.module(["flash"]))


def test_without_leaves_a_function_and_what_only_it_needs_to_others() -> None:
    file = lift(FLASH, [])
    text = file.module(["flash"], without={"update"})
    audit(text, without=("update",))
    assert "LOG2E" not in text
    assert "def update" not in text
    assert "def scores" in text
    assert file.reachable(["flash"], without={"update"}) == ("flash", "scores")


def test_reduce_and_scan_take_a_function_of_the_file() -> None:
    above = "@triton.jit\ndef add(a, b):\n    return a + b\n"
    text = "x = tl.reduce(n, 0, add)\ny = tl.associative_scan(n, 0, combine_fn=add, reverse=True)"
    file = lifted(kernel(text, above=above))
    assert file.functions["f"].calls == ("add",)
    audit(file.module(["f"]))


@pytest.mark.parametrize(
    "change",
    [
        lambda s: s.replace("@triton.jit\n", "@triton.jit()\n"),
        lambda s: s.replace("    tl.", "    language.").replace("as tl", "as language\ntl = language"),
        lambda s: s.replace('    """Scaled scores;', '    """Other words;'),
        lambda s: s.replace("  # ghosts: größer", ""),
        lambda s: s.replace("\n    return tl.where", "\n\n    # why\n    return tl.where").replace(
            "offs_n, n):", "offs_n, n,):"
        ),
        lambda s: s.replace("def scores(q, k,", "def scores(q: int, k: 'tl.tensor',"),
        lambda s: s.replace("    return tl.where", '    print("x")\n    return tl.where'),
        lambda s: s.replace("    ", "\t"),
        lambda s: s.replace("\n", "\r\n"),
        lambda s: s.replace("tl.trans(k), ", "\n        tl.trans(k),  # comment\n        "),
    ],
)
def test_the_fingerprint_ignores_what_does_not_matter(change) -> None:  # type: ignore[no-untyped-def]
    before, after = lift(FLASH, []), lift(change(FLASH), [])
    assert after.functions["scores"].fingerprint == before.functions["scores"].fingerprint


@pytest.mark.parametrize(
    ("old", "new"), [("* scale", "/ scale"), ("< n", "<= n"), ("offs_n, n)", "offs_n, m)"), ("scores", "score")]
)
def test_the_fingerprint_sees_what_matters(old: str, new: str) -> None:
    name = "scores" if new != "score" else new
    before, after = lift(FLASH, []), lift(FLASH.replace(old, new), [])
    found = after.functions[name].fingerprint if name in after.functions else None
    assert found != before.functions["scores"].fingerprint


def test_a_refused_function_still_has_its_fingerprint() -> None:
    source = kernel("break_ = tl.load(x_ptr, n, boundary_check=(0,))")
    again = source.replace("    break_", "    # changed nothing\n    break_")
    before, after = lifted(source).problems["f"], lifted(again).problems["f"]
    assert before.fingerprint is not None
    assert before.fingerprint == after.fingerprint


def test_extras_that_an_exercise_asks_for() -> None:
    source = kernel("tl.atomic_add(x_ptr, n, sem='relaxed', scope='gpu')")
    assert lifted(source).problem_of(["f"]) is not None
    assert lifted(source, extra_tl=frozenset({"atomic_add"})).problem_of(["f"]) is None
    pointer = kernel(
        "p = tl.make_block_ptr(x_ptr, (n,), strides=(1,), offsets=(0,), block_shape=(B,), order=(0,))\n"
        "x = tl.load(p, boundary_check=(0,), padding_option='zero')\np = tl.advance(p, (B,))"
    )
    assert lifted(pointer).problem_of(["f"]) is not None
    extras = frozenset({"make_block_ptr", "advance"})
    assert lifted(pointer, extra_tl=extras).problem_of(["f"]) is None


def test_a_parameter_may_hide_a_constant_and_a_variable_may_hide_an_import() -> None:
    above = "from triton.language import exp\nB = tl.constexpr(3)\n"
    text = body(kernel("exp = n + B\nreturn exp", above=above))
    assert "exp = n + B" in text
    assert "constexpr(3)" not in text


def test_plain_functions_and_code_of_the_file_are_left_out() -> None:
    file = lift(FLASH, [anything("scores", "q", "k", "scale", "offs_n", "n")])
    assert set(file.functions) == {"scores", "update", "flash"}
    assert "launch" not in file.problems
    assert "launch" not in file.module(file.functions)
