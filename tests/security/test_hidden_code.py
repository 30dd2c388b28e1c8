"""Code hidden where Python or Triton would run it by itself: it is refused, or left out, and never run."""

from __future__ import annotations

import sys
from collections.abc import Callable

import pytest

from autograder.result import RunResult

from .making import RIGHT_PIN, assert_costs_only, function

HEADER = "@triton.jit\ndef pin_ghost_rows(s, offs_m, NSEQ):\n"
END = "\n    return tl.max(s, 1)\n"

# In the pieces of a kernel that would be run: nothing of the function may be kept.
REFUSED = {
    "decorator": "@(lambda f: open(TRAP, 'w'))\n@triton.jit\ndef pin_ghost_rows(s, offs_m, NSEQ):\n    return s\n",
    "decorator_below": "@triton.jit\n@open(TRAP, 'w').write\ndef pin_ghost_rows(s, offs_m, NSEQ):\n    return s\n",
    "decorator_called": "@triton.jit()(open(TRAP, 'w'))\ndef pin_ghost_rows(s, offs_m, NSEQ):\n    return s\n",
    "decorator_of_triton": (
        "@triton.autotune(configs=[open(TRAP, 'w')], key=[])\n@triton.jit\n"
        "def pin_ghost_rows(s, offs_m, NSEQ):\n    return s\n"
    ),
    "heuristics": (
        "@triton.heuristics({'NSEQ': lambda a: open(TRAP, 'w')})\n@triton.jit\n"
        "def pin_ghost_rows(s, offs_m, NSEQ):\n    return s\n"
    ),
    "default": "@triton.jit\ndef pin_ghost_rows(s, offs_m, NSEQ=open(TRAP, 'w')):\n    return s\n",
    "default_lambda": "@triton.jit\ndef pin_ghost_rows(s, offs_m, NSEQ=(lambda: open(TRAP, 'w'))()):\n    return s\n",
    "default_f_string": "@triton.jit\ndef pin_ghost_rows(s, offs_m, NSEQ=f\"{open(TRAP, 'w')}\"):\n    return s\n",
    "default_walrus": "@triton.jit\ndef pin_ghost_rows(s, offs_m, NSEQ=(x := open(TRAP, 'w'))):\n    return s\n",
    "default_comprehension": (
        "@triton.jit\ndef pin_ghost_rows(s, offs_m, NSEQ=[open(TRAP, 'w') for _ in '1']):\n    return s\n"
    ),
    "keyword_only_default": "@triton.jit\ndef pin_ghost_rows(s, offs_m, *, NSEQ=open(TRAP, 'w')):\n    return s\n",
    "type_parameter": "@triton.jit\ndef pin_ghost_rows[T: open(TRAP, 'w')](s, offs_m, NSEQ):\n    return s\n",
    "type_parameter_default": "@triton.jit\ndef pin_ghost_rows[T = open(TRAP, 'w')](s, offs_m, NSEQ):\n    return s\n",
    "call": HEADER + "    open(TRAP, 'w')" + END,
    "import": HEADER + "    import os; os.mkdir(TRAP)" + END,
    "import_from": HEADER + "    from os import mkdir; mkdir(TRAP)" + END,
    "class_body": HEADER + "    class A: open(TRAP, 'w')" + END,
    "class_base": HEADER + "    class A(open(TRAP, 'w')): pass" + END,
    "metaclass": HEADER + "    class A(metaclass=open(TRAP, 'w')): pass" + END,
    "nested_def": HEADER + "    def g(x=open(TRAP, 'w')): pass" + END,
    "nested_decorator": HEADER + "    @open(TRAP, 'w')\n    def g(): pass" + END,
    "lambda": HEADER + "    x = (lambda: open(TRAP, 'w'))()" + END,
    "lambda_default": HEADER + "    x = lambda y=open(TRAP, 'w'): y" + END,
    "f_string": HEADER + "    x = f\"{open(TRAP, 'w')}\"" + END,
    "f_string_format": HEADER + "    x = f\"{1:{open(TRAP, 'w')}}\"" + END,
    "list_comprehension": HEADER + "    x = [open(TRAP, 'w') for _ in (1,)]" + END,
    "generator": HEADER + "    x = max(open(TRAP, 'w') for _ in (1,))" + END,
    "walrus": HEADER + "    x = (y := open(TRAP, 'w'))" + END,
    "match": HEADER + "    match open(TRAP, 'w'):\n        case _: pass" + END,
    "match_class": HEADER + "    match s:\n        case object(__class__=x): pass" + END,
    "subscript": HEADER + "    x = s[open(TRAP, 'w')]" + END,
    "slice": HEADER + "    x = s[:open(TRAP, 'w')]" + END,
    "keyword": HEADER + "    x = tl.max(s, axis=open(TRAP, 'w'))" + END,
    "stars": HEADER + "    x = tl.max(*open(TRAP, 'w'))" + END,
    "condition": HEADER + "    if open(TRAP, 'w'):\n        s = s" + END,
    "loop": HEADER + "    for i in range(int(open(TRAP, 'w'))):\n        s = s" + END,
    "return": HEADER + "    return open(TRAP, 'w')\n",
    "unreached": HEADER + "    return tl.max(s, 1)\n    open(TRAP, 'w')\n",
    "with": HEADER + "    with open(TRAP, 'w'): pass" + END,
    "try": HEADER + "    try: open(TRAP, 'w')\n    except Exception: pass" + END,
    "raise": HEADER + "    raise SystemExit" + END,
    "delete": HEADER + "    del s[open(TRAP, 'w')]" + END,
    "yield": HEADER + "    yield open(TRAP, 'w')\n",
    "eval": HEADER + "    x = eval(\"open(TRAP, 'w')\")" + END,
    "print_as_value": HEADER + "    x = print(open(TRAP, 'w'))" + END,
    "assigned_annotation": HEADER + "    s.x: open(TRAP, 'w') = 1" + END,
    "helper": "@triton.jit\ndef g(x):\n    return open(TRAP, 'w')\n\n\n" + HEADER + "    s = g(s)" + END,
    "helper_default": "@triton.jit\ndef g(x=open(TRAP, 'w')):\n    return x\n\n\n" + HEADER + "    s = g(s)" + END,
    "plain_helper": "def g(x):\n    return open(TRAP, 'w')\n\n\n" + HEADER + "    s = g(s)" + END,
    "imported_helper": "from evil import g\n\n\n" + HEADER + "    s = g(s)" + END,
    "combine_function": HEADER + "    s = tl.reduce(s, 1, open)" + END,
    "constant": "K = tl.constexpr(open(TRAP, 'w'))\n\n\n" + HEADER + "    s = s + K" + END,
    "constant_subscript": "K = tl.constexpr([1][len(open(TRAP, 'w').name)])\n\n\n" + HEADER + "    s = s + K" + END,
}

# Around a right kernel: left out, and the kernel keeps its score.
LEFT_OUT = {
    "module": "open(TRAP, 'w')\n\n\n" + function("pin_ghost_rows", RIGHT_PIN),
    "module_import": "import evil\nfrom evil import *\nfrom . import evil\n\n\n"
    + function("pin_ghost_rows", RIGHT_PIN),
    "module_class": "class A(metaclass=open(TRAP, 'w')):\n    open(TRAP, 'w')\n\n\n"
    + function("pin_ghost_rows", RIGHT_PIN),
    "module_if": "if open(TRAP, 'w'):\n    import os\n\n\n" + function("pin_ghost_rows", RIGHT_PIN),
    "module_dunders": (
        "__getattr__ = __import__ = __builtins__ = open(TRAP, 'w')\n\n\n" + function("pin_ghost_rows", RIGHT_PIN)
    ),
    "unused_function": "@open(TRAP, 'w')\ndef g(x=open(TRAP, 'w')): pass\n\n\n" + function("pin_ghost_rows", RIGHT_PIN),
    "jit_options": function("pin_ghost_rows", RIGHT_PIN).replace("@triton.jit", "@triton.jit(debug=open(TRAP, 'w'))"),
    "annotation": function("pin_ghost_rows", RIGHT_PIN).replace("(s,", "(s: open(TRAP, 'w'),", 1),
    "return_annotation": function("pin_ghost_rows", RIGHT_PIN).replace("):", ") -> open(TRAP, 'w'):"),
    "variable_annotation": function("pin_ghost_rows", RIGHT_PIN.replace("m = ", "m: open(TRAP, 'w') = ")),
    "bare_annotation": function("pin_ghost_rows", "x: open(TRAP, 'w')\n" + RIGHT_PIN),
    "text_annotation": function("pin_ghost_rows", RIGHT_PIN).replace("(s,", "(s: 'open(1)',", 1),
    "print": function("pin_ghost_rows", "print(open(TRAP, 'w'))\n" + RIGHT_PIN),
    "device_print": function("pin_ghost_rows", "tl.device_print('x', open(TRAP, 'w'))\n" + RIGHT_PIN),
    "static_assert": function("pin_ghost_rows", "tl.static_assert(open(TRAP, 'w'))\n" + RIGHT_PIN),
    "assert": function("pin_ghost_rows", "assert open(TRAP, 'w')\n" + RIGHT_PIN),
    "docstring": function(
        "pin_ghost_rows", "'''\ndef pin_ghost_rows(s, offs_m, NSEQ, x=open(TRAP, 'w')):\n'''\n" + RIGHT_PIN
    ),
    "continued_text": function(
        "pin_ghost_rows", "'a\\\ndef pin_ghost_rows(s, offs_m, NSEQ, x=open(1)): \\\n'\n" + RIGHT_PIN
    ),
    "text_in_print": function(
        "pin_ghost_rows", "print('''\ndef pin_ghost_rows(x=open(TRAP, \"w\")): pass\n''')\n" + RIGHT_PIN
    ),
    "comment": function("pin_ghost_rows", "# \u2028def pin_ghost_rows(x=open(TRAP, 'w')): pass\n" + RIGHT_PIN),
}
EVIL = "open(TRAP, 'w')\n"


@pytest.mark.parametrize("name", list(REFUSED))
def test_code_that_triton_would_run_is_refused(name: str, attack: Callable[..., RunResult], trap: str) -> None:
    result = attack(REFUSED[name].replace("TRAP", trap), also={"lesson7/evil.py": EVIL.replace("TRAP", trap)})
    outcomes = {"refused"} | ({"compile-error"} if name.startswith("type_") and sys.version_info < (3, 13) else set())
    assert_costs_only(result, "ghost_row_pin", outcomes)


@pytest.mark.parametrize("name", list(LEFT_OUT))
def test_code_around_a_kernel_is_left_out_and_costs_nothing(
    name: str, attack: Callable[..., RunResult], trap: str
) -> None:
    result = attack(LEFT_OUT[name].replace("TRAP", trap), also={"lesson7/evil.py": EVIL.replace("TRAP", trap)})
    assert_costs_only(result, "ghost_row_pin", {"pass"}, at_most=1.0)


@pytest.mark.skipif(sys.version_info < (3, 12), reason="Python 3.12 brings type parameters")
@pytest.mark.parametrize(
    "text", ["def g[T: open(TRAP, 'w')](): pass", "class A[T: open(TRAP, 'w')]: pass", "type X = open(TRAP, 'w')"]
)
def test_type_parameters_around_a_kernel_are_left_out(text: str, attack: Callable[..., RunResult], trap: str) -> None:
    result = attack(f"{text.replace('TRAP', trap)}\n\n\n{function('pin_ghost_rows', RIGHT_PIN)}")
    assert_costs_only(result, "ghost_row_pin", {"pass"}, at_most=1.0)
