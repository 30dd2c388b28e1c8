"""What is refused: outcome, line, and a sentence that names the construct and says what to do."""

from __future__ import annotations

import re

import pytest

from autograder.lift import Wanted, lift

from .making import FLASH, HEAD, anything, kernel, lifted, problem

REFUSED = {
    # Python's syntax
    "def g():\n    pass": "function inside a kernel",
    "g = lambda a: a": "`lambda`",
    "class C:\n    pass": "class inside",
    "import os": "import inside",
    "from os import path": "import inside",
    "global n": "`global`",
    "try:\n    n = 1\nexcept Exception:\n    pass": "`try`",
    "raise NotImplementedError": "`raise`",
    "with n:\n    pass": "`with`",
    "yield n": "`yield`",
    "x = yield": "`yield`",
    "del n": "`del`",
    "x = [i for i in (1, 2)]": "comprehension",
    "x = (i for i in (1, 2))": "comprehension",
    "x = {i: i for i in (1, 2)}": "comprehension",
    "x = (y := 3)": "`:=`",
    "x = f'{n}'": "f-string",
    "x = (*n, 1)": "star",
    "f2 = tl.load(*n)": "star",
    "f2 = tl.load(**n)": "star",
    "x = {}": "dictionary",
    "x = {1}": "set",
    "match n:\n    case 1:\n        pass": "`match`",
    "while n:\n    break": "`break`",
    "while n:\n    continue": "`continue`",
    "for i in range(3):\n    return": "`return` inside a loop",
    "for i in range(3):\n    pass\nelse:\n    n = 1": "`else` after a loop",
    "for i, j in range(3):\n    pass": "counts with one name",
    "for i in (1, 2):\n    pass": "runs over",
    "for i in range(3):\n    pass\nx = i + 1": "`i` counts a loop and is read after it",
    "i = 0\nfor i in tl.range(3):\n    pass\nif n > 1:\n    x = i": "`i` counts a loop and is read after it",
    "for i in range(3):\n    pass\ni += 1": "`i` counts a loop and is read after it",
    "if n > 1:\n    for i in range(3):\n        pass\nx = i": "`i` counts a loop and is read after it",
    "while n > 1:\n    for i in range(3):\n        pass\n    n = n - i": "`i` counts a loop and is read after it",
    "i = 0\nfor j in range(2):\n    x = i + 1\n    for i in range(x):\n        pass": "On a GPU its value there",
    "i = 0\nwhile i < n:\n    for i in range(3):\n        pass": "`i` counts a loop and is read after it",
    "i = 0\nfor j in tl.static_range(2):\n    if j:\n        x = i\n    for i in range(3):\n        pass": "undefined",
    "for i in range(3):\n    pass\nif B:\n    i = 1\nif n:\n    i = 2\nx = i": "`i` counts a loop and is read after it",
    "for i in range(3):\n    pass\nif B:\n    i = 1\nif B:\n    i = 2\nx = i": "`i` counts a loop and is read after it",
    "for i in tl.arange(0, 4):\n    pass": "runs over",
    "x = n @ n": "tl.dot",
    "n @= n": "tl.dot",
    "x = n in (1, 2)": "`==`",
    "x = n not in (1, 2)": "`!=`",
    "x = n is 3": "`==`",
    "a = b = n": "one assignment a line",
    "n[0] = 1": "tl.where",
    "n.x = 1": "attribute cannot be assigned",
    "[a, b] = n": "left of `=`",
    "(*a, b) = n": "left of `=`",
    "(x): int = 3": "type hint",
    "x: tl.constexpr": "= value",
    "x = n[0:2]": "sliced with bounds",
    "x = n[..., None]": "`...`",
    "x = n[n + 1]": "index",
    "x = ...": "`...`",
    "x = 1j": "complex",
    "x = b'abc'": "bytes",
    # Infinity under other names
    "x = -math.inf": 'float("-inf")',
    "x = np.inf": 'float("-inf")',
    "x = -tl.inf": 'float("-inf")',
    "x = tl.math.inf": 'float("-inf")',
    "x = tl.maxx(n, 1)": "Did you mean `tl.max`?",
    "x = tl.arrange(0, 4)": "Did you mean `tl.arange`?",
    "x = triton.cdivs(n, 4)": "Did you mean `triton.cdiv`?",
    # Strings
    "x = 'abc'": "text in quotes",
    "x = tl.dot(n, n, 'ieee')": "text in quotes",
    "x = tl.dot(n, n, None, n, 'ieee')": "text in quotes",
    "x = tl.dot(n, n, None, 'fast')": '`input_precision=` takes "ieee", "tf32" or "tf32x3"',
    "x = tl.dot(n, n, None, 'ieee' if n else 'fast')": "text in quotes",
    "x = tl.dot(n, n, input_precision='fast')": '`input_precision=` takes "ieee", "tf32" or "tf32x3"',
    "x = tl.dot(n, n, input_precision='fp32')": '`input_precision=` takes "ieee", "tf32" or "tf32x3"',
    "x = tl.dot(n, n, input_precision='bf16x6')": '`input_precision=` takes "ieee", "tf32" or "tf32x3"',
    "x = tl.load(x_ptr, eviction_policy=TEXT)": "only options take one",
    "x = TEXT": "only options take one",
    "x = TEXT * 9": "only options take one",
    "x: tl.constexpr = 'text'": "text in quotes",
    "x = 'ieee'": "text in quotes",
    "x = tl.dot(n, n, input_precision=PLAIN_TEXT)": '`PLAIN_TEXT = tl.constexpr("ieee")`',
    "x = tl.dot(n, n, input_precision=OTHER_TEXT)": 'or "ieee", "tf32" or "tf32x3"',
    "x = f(x_ptr=n, n='fast')": "no other text",
    "x = f(n, 'fast')": "text in quotes",
    "x = tl.load(x_ptr, mask='ieee')": "mask",
    "x = float('1e5')": "text in quotes",
    "x = float('''inf\ndef evil(): pass\n''')": "text in quotes",
    # Arithmetic that Python would compute exactly
    "x = 9 ** 9 ** 9": "exponent",
    "x = 2 ** 65": "exponent",
    "x = 2 ** 64": "64 bits",
    "x = n ** n": "exponent",
    "x = (n ** 60) ** 60": "inside the base",
    "x = 1 << 9999999999": "shift",
    "x = (1 << 40) * (1 << 40)": "64 bits",
    "x = 36893488147419103232": "64 bits",
    "x = 0x1FFFFFFFFFFFFFFFFF": "64 bits",
    "n **= 60": "assignment out",
    "n <<= 60": "assignment out",
    "x = (0,) * 1000000000": "tuple",
    # Names
    "x = __builtins__": "two underscores",
    "x = __import__('os')": "two underscores",
    "x = open": "Python's `open`",
    "x = eval('1')": "Python's `eval`",
    "x = getattr(n, 'handle')": "Python's `getattr`",
    "x = isinstance(n, int)": "Python's `isinstance`",
    "x = abs(n)": "tl.abs",
    "x = sum(n)": "tl.sum",
    "x = type(n)": "Python's `type`",
    "x = print(n)": "line of its own",
    "x = range(3)": "for ... in range",
    "x = float": "Python's `float`",
    "x = tl": "cannot stand alone",
    "x = triton": "cannot stand alone",
    "x = f": "can only be called",
    "x = tl.load": "must be called",
    "x = tl.range(3)": "belongs behind",
    "x = tl.static_print(n)": "line of its own",
    "x = n(3)": "variable and cannot be called",
    "x = (tl.load)(x_ptr)(3)": "has a name",
    "tl = 3": "already has a meaning",
    "triton = 3": "already has a meaning",
    "range = 3": "already has a meaning",
    "min = 3": "already has a meaning",
    "interpreter_semantic = 3": "already has a meaning",
    "f = 3": "is a function",
    "__x = 3": "two underscores",
    "for tl in range(3):\n    pass": "already has a meaning",
    "K = 3": "constant of the file",
    "x = K(3)": "is a number",
    "x = PLAIN": "`PLAIN = tl.constexpr(3)`",
    "x = LIST": "`LIST = tl.constexpr(number)`",
    "x = BAD": "must be a number",
    "x = NIL": "must be a number",
    "x = K is None": "compare with `==`",
    "x = torch.zeros(3)": "`torch.zeros` cannot be used in a kernel. Write `tl.zeros`.",
    "x = torch.nn.functional.softmax(n)": "Write `tl.softmax`.",
    "x = torch.matmul(n, n)": "Write `tl.dot`.",
    "x = torch.kthvalue(n)": "`torch`",
    "x = torch.float32": "`torch`",
    "x = numpy_.zeros(3)": "Write `tl.zeros`.",
    "x = math.exp(3)": "`math.exp` cannot be used in a kernel. Write `tl.exp`.",
    "x = math.sqrt(n)": "`math.sqrt` cannot be used in a kernel. Of a number write `x ** 0.5`, of a tile `tl.sqrt(x)`.",
    "x = math.gamma(3)": "`math`",
    "x = exp(n)": "`exp` is not known in this kernel by that name. Write `tl.exp`.",
    "x = where(n, n, n)": "Write `tl.where`.",
    "x = log(n)": "Write `tl.log`.",
    "x = C(3)": "class",
    # Attributes and methods
    "x = n.handle": "`.handle`",
    "x = n.data": "`.data`",
    "x = n.__class__": "`.__class__`",
    "x = n.type": "`.type`",
    "x = n.type.scalar": "`.type`",
    "x = n.format(3)": "`.format`",
    "x = n.sum": "must be called",
    "x = n.dtype.to_ir(n)": "`.to_ir`",
    "x = B.value": "`.value`",
    "x = n.load()": "tl.load",
    "n.store(n)": "tl.store",
    "n.atomic_add(n)": "Atomic",
    "x = f.fn": "can only be called",
    "x = tl.core.load(x_ptr)": "`tl.core.load`",
    "x = tl.float32.name": "`tl.float32.name`",
    "x = tl.tensor(n, n)": "`tl.tensor`",
    "x = tl.pointer_type(tl.float32)": "`tl.pointer_type`",
    "x = triton.runtime": "`triton.runtime`",
    "x = triton.jit(n)": "`triton.jit`",
    "x = tl.load.__globals__": "two underscores|__globals__",
    # Memory and the machine
    "tl.atomic_add(x_ptr, n)": "Atomic",
    "tl.atomic_cas(x_ptr, n, n)": "Atomic",
    "x = tl.inline_asm_elementwise('', '', [n], tl.int32, True, 1)": "assembly",
    "x = tl.make_block_ptr(x_ptr, (n,), (1,), (0,), (B,), (0,))": "Block pointers",
    "x = tl.advance(x_ptr, (B,))": "Block pointers",
    "x = tl.make_tensor_descriptor(x_ptr, (n,), (1,), (B,))": "descriptors",
    "x = tl.load_tensor_descriptor(x_ptr, (n,))": "descriptors",
    "x = tl.load(x_ptr, boundary_check=(0,))": "block pointers",
    "x = tl.load(x_ptr, padding_option='zero')": "block pointers",
    "x = tl.extra.cuda.globaltimer()": "make of the GPU",
    # Calls
    "x = tl.load(x_ptr, _semantic=n)": "not an argument",
    "x = tl.load(x_ptr, mask=n, __x=3)": "two underscores",
    "x = f(nonsense=3)": "not an argument",
    "x = tl.reduce(n, 0, max)": "third argument",
    "x = tl.reduce(n, 0, n)": "third argument",
    "x = tl.associative_scan(n, 0, lambda a, b: a)": "third argument",
    "x = min(n, key=n)": "not an argument",
    "x = tl.max(n, dim=1)": "called `axis`",
    "x = n.sum(dim=1)": "called `axis`",
    "x = tl.max(n, 1, keepdims=True)": "Did you mean `keep_dims`?",
}

ABOVE = """import torch
import math
import numpy as numpy_
K = tl.constexpr(3)
PLAIN = 3
from math import log
TEXT: tl.constexpr = "ieee"
PLAIN_TEXT = "ieee"
OTHER_TEXT = tl.constexpr("fp32")
LIST = [1, 2]
NIL = tl.constexpr(None)
BAD = tl.constexpr(torch.zeros(3))
class C: pass
"""


@pytest.mark.parametrize(("statement", "says"), REFUSED.items())
def test_what_is_not_on_the_list_is_refused_with_its_line_and_reason(statement: str, says: str) -> None:
    found = problem(kernel(f"pass\n{statement}\nreturn n", above=ABOVE))
    assert found.outcome == "refused"
    assert re.search(says if "|" in says else re.escape(says), found.message), found.message
    first = kernel("", above=ABOVE).count("\n") + 1
    assert found.line is not None
    assert first <= found.line <= first + statement.count("\n")
    assert found.message.endswith((".", "?"))
    assert len(found.message) < 250


@pytest.mark.parametrize("statement", [one for one in REFUSED if "\n" not in one and "return" not in one])
def test_a_refusal_holds_wherever_the_statement_stands(statement: str) -> None:
    source = kernel(f"if n:\n    while n > 0:\n        n -= 1; {statement}", above=ABOVE)
    assert problem(source).outcome == "refused"


@pytest.mark.parametrize(
    ("parameters", "says"),
    [
        ("x, *args", "plain names"),
        ("x, **kwargs", "plain names"),
        ("x, *, y", "plain names"),
        ("x, /, y", "plain names"),
        ("x=[]", "default"),
        ("x=open('/etc/passwd')", "default"),
        ("x='text'", "default"),
        ("x='ieee'", "`x: tl.constexpr`"),
        ("x: tl.constexpr = 'fp32'", 'or for an option "ieee", "tf32" or "tf32x3"'),
        ("x=float('1e5')", "default"),
        ("x=-float(open('/etc/passwd'))", "default"),
        ("x=lambda: 3", "default"),
        ("x=f'{open(1)}\\n'", "default"),
        ("x=2**64", "default"),
        ("x=18446744073709551616", "default"),
        ("tl", "already has a meaning"),
        ("min", "already has a meaning"),
        ("f", "is a function"),
        ("__x", "two underscores"),
        ("größe", "plain ASCII"),
        ("ｘ", "plain ASCII"),
    ],
)
def test_headers_that_are_refused(parameters: str, says: str) -> None:
    found = problem(kernel("pass", parameters=parameters))
    assert found.outcome == "refused"
    assert says in found.message


@pytest.mark.parametrize(
    "parameters",
    [
        "x=-3",
        "x=1.5",
        "x=None",
        "x=True",
        "x: tl.constexpr = tl.float32",
        "x=float('-inf')",
        "x=-float('inf')",
        "x: tl.constexpr = 'ieee'",
    ],
)
def test_defaults_that_can_do_nothing_are_kept(parameters: str) -> None:
    assert lifted(kernel("pass", parameters=parameters)).problem_of(["f"]) is None


def test_a_default_of_a_float_that_is_not_pythons_is_refused() -> None:
    found = problem(kernel("pass", parameters="x=float('inf')", above="from torch import float"))
    assert "default" in found.message


@pytest.mark.parametrize(
    ("call", "says"),
    [
        ("torch.softmax(n)", "`torch.softmax` cannot be used in a kernel. Write `tl.softmax`."),
        ("np.exp(n)", "`np.exp` cannot be used in a kernel. Write `tl.exp`."),
        ("F.softplus(n)", "`F` has no value here. A kernel has only `tl` and `triton`."),
    ],
)
def test_a_library_that_is_not_imported_is_known_by_its_usual_name(call: str, says: str) -> None:
    found = problem(kernel(f"x = {call}"))
    assert (found.outcome, found.message) == ("compile-error", says)


@pytest.mark.parametrize("call", ["tl.softmax(n)", "triton.language.softmax(n)", "n.softmax()", "torch.softmax(n)"])
def test_what_would_be_the_exercise_is_refused_in_every_spelling(call: str) -> None:
    source = kernel(f"x = {call}")
    found = lifted(source, forbidden_tl=frozenset({"softmax"})).problem_of(["f"])
    assert found is not None
    assert "softmax` does the work of this exercise" in found.message
    assert "tl.softmax`." not in found.message


@pytest.mark.parametrize("name", ["ｎ", "ﬀ", "grün", "х"])
def test_letters_that_look_like_others_are_refused(name: str) -> None:
    found = problem(kernel(f"x = 1\n{name} = 2\nreturn x"))
    assert found.outcome == "refused"
    assert "plain ASCII" in found.message


@pytest.mark.parametrize(
    ("decorators", "says"),
    [
        ("", "add @triton.jit above `def f`"),
        ("@triton.autotune(configs=[], key=[])\n@triton.jit", "`@triton.autotune`"),
        ("@triton.heuristics({})\n@triton.jit", "`@triton.heuristics`"),
        ("@triton.jit\n@functools.cache", "`@functools.cache`"),
        ("@triton.jit\n@triton.jit", "only once"),
        ("@(lambda f: f)", "`@...`"),
        ("@print", "`@print`"),
        ("@triton.jit()()", "`@...`"),
    ],
)
def test_decorators_other_than_jit_are_refused(decorators: str, says: str) -> None:
    source = f"{HEAD}{decorators}\ndef f(x):\n    return x\n"
    found = lift(source, [anything("f", "x")]).problems["f"]
    assert found.outcome == "refused"
    assert says in found.message


def test_a_plain_helper_is_told_to_become_a_kernel_and_costs_its_caller() -> None:
    source = HEAD + "def helper(x):\n    return x\n\n@triton.jit\ndef f(x):\n    return helper(x)\n"
    file = lift(source, [anything("f", "x")])
    assert "f" in file.functions
    assert file.functions["f"].calls == ("helper",)
    found = file.problem_of(["f"])
    assert found is not None
    assert (found.outcome, found.line) == ("refused", 5)
    assert "add @triton.jit above `def helper`" in found.message
    with pytest.raises(ValueError, match="helper"):
        file.module(["f"])


def test_a_refused_helper_refuses_its_caller_unless_it_is_supplied() -> None:
    source = HEAD + "@triton.jit\ndef g(x):\n    return open(x)\n\n@triton.jit\ndef f(x):\n    return g(x)\n"
    file = lift(source, [])
    assert file.problem_of(["f"]) == file.problems["g"]
    assert file.problem_of(["f"], without={"g"}) is None
    assert "def g" not in file.module(["f"], without={"g"})


@pytest.mark.parametrize(
    ("header", "says"),
    [
        ("def f(a, b, C: tl.constexpr)", None),
        ("def f(a: int, b=3, C: 'tl.constexpr' = 4) -> None", None),
        ("def f(b, a, C: tl.constexpr)", "expected `f(a, b, C)`, found `f(b, a, C)`"),
        ("def f(a, C: tl.constexpr)", "found `f(a, C)`"),
        ("def f(a, b, C: tl.constexpr, d=1)", "found `f(a, b, C, d)`"),
        ("def f(a, b, *C)", "found `f(a, b, *C)`"),
        ("def f()", "found `f()`"),
        ("def f(a, b, C)", "`C: tl.constexpr`"),
        ("def f(a, b, C: int)", "`C: tl.constexpr`"),
    ],
)
def test_a_wanted_signature_is_compared_by_names_order_and_constexpr(header: str, says: str | None) -> None:
    source = f"{HEAD}@triton.jit\n{header}:\n    pass\n"
    found = lift(source, [Wanted("f", ("a", "b", "C"), frozenset({"C"}))]).problems.get("f")
    if says is None:
        assert found is None
    else:
        assert found is not None
        assert found.outcome == "refused"
        assert says in found.message


@pytest.mark.parametrize(
    ("source", "outcome", "says"),
    [
        ("", "not-started", "no function `f`"),
        ("f = 3\n", "not-started", "no function `f`"),
        ("class A:\n    def f(self):\n        pass\n", "not-started", "left margin"),
        ("if True:\n    def f():\n        pass\n", "not-started", "left margin"),
        ("def g():\n    def f():\n        pass\n", "not-started", "left margin"),
        ("async def f():\n    pass\n", "refused", "async def"),
        ("class f:\n    pass\n", "refused", "class"),
        ("import f\n", "not-started", "no function `f`"),
    ],
)
def test_a_wanted_function_that_is_not_there(source: str, outcome: str, says: str) -> None:
    found = lift(source, [anything("f")]).problems["f"]
    assert found.outcome == outcome
    assert says in found.message


def test_a_wanted_function_that_is_missing_is_missed_by_its_caller() -> None:
    source = HEAD + "@triton.jit\ndef f(x):\n    return piece(x)\n"
    file = lift(source, [anything("f", "x"), anything("piece", "x")])
    found = file.problem_of(["f"])
    assert found is not None
    assert found.outcome == "not-started"
    assert file.problem_of(["f"], without={"piece"}) is None


@pytest.mark.parametrize(
    "source", ["tl = 3\n", "import numpy as tl\n", "def tl():\n    pass\n", "class tl:\n    pass\n"]
)
def test_a_tl_that_is_not_tritons_is_refused(source: str) -> None:
    found = problem(f"import triton\n{source}\n@triton.jit\ndef f(x):\n    return tl.load(x)\n")
    assert found.outcome == "refused"
    assert "`tl`" in found.message


def test_a_function_may_not_take_a_name_that_kernels_use() -> None:
    source = HEAD + "@triton.jit\ndef range(x):\n    return x\n\n@triton.jit\ndef f(x):\n    return range(x)\n"
    found = lifted(source).problem_of(["f"])
    assert found is not None
    assert found.outcome == "refused"


def test_problems_of_functions_nobody_needs_are_not_listed() -> None:
    source = FLASH + "\n@triton.jit\ndef unused(x):\n    return open(x)\n"
    assert not lift(source, []).problems


@pytest.mark.parametrize("name", ["undefined", "np", "interpreter_builder", "inspect"])
def test_a_name_without_a_meaning_is_a_compile_error_and_never_reaches_the_interpreters_globals(name: str) -> None:
    found = problem(kernel(f"pass\nx = {name}\nreturn n", above=ABOVE))
    assert found.outcome == "compile-error"
    assert found.message.startswith(f"`{name}` has no value here.")


def test_a_slip_in_a_name_gets_a_suggestion() -> None:
    found = problem(kernel("offsets = n\nreturn offsetz", above=ABOVE))
    assert found.outcome == "compile-error"
    assert found.message == "`offsetz` has no value here. Did you mean `offsets`?"


def test_a_message_of_pythons_that_ends_with_a_mark_gets_no_second_one() -> None:
    asks = problem(kernel("x = (n n)"))
    assert asks.message == "Python cannot read this line: invalid syntax. Perhaps you forgot a comma?"
    says = problem(kernel("x = n +"))
    assert says.message == "Python cannot read this line: invalid syntax."


def test_what_python_reads_and_would_not_compile_is_named_by_its_line() -> None:
    twice = problem(kernel("x = tl.load(\n    x_ptr,\n    mask=n > 0,\n    other=0.0,\n    mask=n > 1,\n)"))
    assert (twice.outcome, twice.message) == ("compile-error", "`mask` is given twice in one call.")
    source = kernel("x = tl.load(\n    x_ptr,\n    mask=n > 0,\n    other=0.0,\n    mask=n > 1,\n)")
    assert source.split("\n")[twice.line - 1].strip() == "mask=n > 1,"
    same = problem(kernel("return n", parameters="x_ptr, n, n"))
    assert (same.outcome, same.message) == ("compile-error", "`n` is a parameter twice.")


@pytest.mark.parametrize("name", ["inf", "INF", "Infinity"])
def test_infinity_is_not_a_name_and_how_to_write_it_is_said(name: str) -> None:
    found = problem(kernel(f"return -{name}"))
    assert found.outcome == "compile-error"
    assert found.message == (
        f'`{name}` is not known in a kernel; write `float("inf")`, or `float("-inf")` for minus infinity.'
    )
    assert lifted(kernel(f"{name} = n\nreturn {name}")) is not None


def test_a_function_that_triton_does_not_have_is_said_not_to_be_there() -> None:
    said = problem(kernel("x = tl.silu(n)")).message
    assert said.startswith("Triton has no `tl.silu`. What it has is listed at https://triton-lang.org/")
    assert problem(kernel("x = tl.sofmax(n)")).message == "Triton has no `tl.sofmax`. Did you mean `tl.softmax`?"
    there = problem(kernel("x = tl.dot_scaled(n)")).message
    assert there == "`tl.dot_scaled` is not among the functions that may be used in this exercise."
