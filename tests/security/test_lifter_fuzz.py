"""The course's own kernels, mutated with hostile pieces: what is lifted is audited as bytecode, and defined
without Python.

The audit shares nothing with the lift: not the syntax tree, not the allow-list. It looks at what the code objects of
the clean module do, name and hold, and executes the module where there is no builtin but ``float``.
"""

from __future__ import annotations

import ast
import dis
import random
import re
import types
import warnings
from collections.abc import Iterator

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from autograder.lift import Wanted, lift

from .making import FLASH, ONE_SHOT, PARAMETERS, solution
from .test_hidden_code import LEFT_OUT, REFUSED
from .test_names import LOOK_ALIKES, MODULE_NAMES, REACHING, REBINDING, TILE_METHODS

SOLUTIONS = (solution(ONE_SHOT), solution(FLASH))
STATEMENTS = [*REACHING.values(), *REBINDING.values(), *LOOK_ALIKES.values(), "x = K", "s = h(s)", "x = tl.load(q_ptr)"]
WHOLE = [*REFUSED.values(), *LEFT_OUT.values(), "K = tl.constexpr(3)", "@triton.jit\ndef h(x): return x"]
EXPRESSIONS = [
    node
    for text in STATEMENTS
    if text.isascii() and "nonlocal" not in text
    for node in ast.walk(ast.parse(text))
    if isinstance(node, ast.expr)
]
WANTED = [
    Wanted(name, tuple(one.split(":")[0] for one in text.split(", ")), frozenset()) for name, text in PARAMETERS.items()
] + [Wanted("online_softmax_update", ("m_i", "l_i", "acc", "s", "v"), frozenset())]
PROFILE = settings(max_examples=100, deadline=None, suppress_health_check=list(HealthCheck))

NAMED = {*MODULE_NAMES.split(), *TILE_METHODS.split(), "tl", "triton", "jit", "math", "range", "static_range", "len"}
NAMED |= {"float", "int", "type", "tensor", "PropagateNan", "ALL", "NONE"}
# `.type` and `.tensor` are for `.type.element_ty`; neither is there on the reaching end of a chain, see below.
TEXTS = {"", "ieee", "tf32", "tf32x3", "bf16x3", "bf16x6", "rtne", "rtz", "inf", "-inf", "+inf", "nan", "tl.constexpr"}
TEXTS |= {
    "evict_first",
    "evict_last",
    "evict_normal",
    ".ca",
    ".cg",
    ".cv",
    ".wb",
    ".cs",
    ".wt",
    "infinity",
    "-infinity",
}


# Instructions that change something outside of a function, make one, or run others' code unasked.
REACHING_OUT = re.compile(
    "STORE_(GLOBAL|ATTR|SUBSCR|SLICE|NAME|DEREF)|DELETE|IMPORT|LOAD_BUILD_CLASS|MAKE_FUNCTION|.*YIELD|.*AWAIT|RAISE|"
    "BEFORE_|SETUP_|FORMAT|BUILD_(STRING|SET|MAP|TEMPLATE)|CALL_FUNCTION_EX|UNPACK_EX|LIST_EXTEND|MATCH|LOAD_NAME"
)


class Quiet:
    """Stands for triton where definitions are executed; it can do nothing."""

    def __getattr__(self, name: str) -> object:
        return self

    def jit(self, function: types.FunctionType) -> types.FunctionType:
        return function

    def constexpr(self, value: float) -> float:
        assert type(value) in (int, float, bool)
        return value


def code_objects(code: types.CodeType) -> Iterator[types.CodeType]:
    yield code
    for constant in code.co_consts:
        if isinstance(constant, types.CodeType):
            yield from code_objects(constant)


def flat(constants: tuple[object, ...]) -> Iterator[object]:
    for constant in constants:
        if isinstance(constant, tuple):
            yield from flat(constant)
        elif not isinstance(constant, types.CodeType):
            yield constant


def audit(module: str) -> None:
    """Definitions do nothing, and functions name nothing beyond the list above, each other, and constants."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", SyntaxWarning)
        whole = compile(module, "module", "exec")
    functions = [code for code in whole.co_consts if isinstance(code, types.CodeType)]
    names = {code.co_name for code in functions}
    space = {"__builtins__": {"float": float}, "triton": Quiet(), "tl": Quiet()}
    exec(whole, space)
    constants = set(space) - names - {"__builtins__", "triton", "tl"}
    assert {type(space[name]) for name in constants} <= {int, float, bool}
    for code in code_objects(whole):
        assert len(list(code_objects(code))) == 1 or code is whole, "a function inside a function"
        own = names | constants | NAMED
        assert set(code.co_names) <= own, set(code.co_names) - own
        if code is not whole:
            assert not [one.opname for one in dis.get_instructions(code) if REACHING_OUT.match(one.opname)]
        assert not code.co_cellvars
        assert not code.co_freevars
        assert not code.co_flags & (0x04 | 0x08 | 0x20 | 0x80 | 0x100 | 0x200), "stars, generators, coroutines"
        assert not {"tl", "triton", "range", "__builtins__"} & set(code.co_varnames)
        assert not any(name.startswith("__") for name in (*code.co_names, *code.co_varnames))
        for constant in flat(code.co_consts):
            assert isinstance(constant, int | float | str | None)
            assert not isinstance(constant, int) or abs(constant) <= 2**64
            # Names of keyword arguments are constants too in some versions of Python: identifiers, and no more.
            if isinstance(constant, str):
                assert constant in TEXTS | names or constant.isidentifier()


def check(source: str) -> int:
    file = lift(source, WANTED)
    fine = [name for name in file.functions if file.problem_of([name]) is None]
    audit(file.module(fine))
    return len(fine)


@pytest.mark.parametrize("source", SOLUTIONS, ids=["one_shot", "flash"])
def test_the_solutions_pass_the_audit(source: str) -> None:
    assert check(source) == (4 if "load_tiles" in source else 2)


@pytest.mark.parametrize(
    "body", ["open('x')", "x = s.handle", "x = tl.core", "import os", "global tl; tl = s", "lambda: 0", "x = 'abc def'"]
)
def test_the_audit_notices_what_no_lift_should_let_through(body: str) -> None:
    with pytest.raises((AssertionError, NameError)):
        audit(f"@triton.jit\ndef f(s):\n    {body}\n")
    with pytest.raises(NameError):
        audit("@triton.jit\ndef f(s=open('x')):\n    pass\n")


@PROFILE
@given(st.sampled_from(SOLUTIONS), st.lists(st.tuples(st.integers(0, 400), st.sampled_from(STATEMENTS)), max_size=4))
def test_hostile_statements_among_the_rows_of_a_kernel(source: str, inserts: list[tuple[int, str]]) -> None:
    rows = source.split("\n")
    for place, statement in inserts:
        at = place % len(rows)
        margin = rows[at][: len(rows[at]) - len(rows[at].lstrip())]
        rows[at:at] = [margin + row for row in statement.split("\n")]
    check("\n".join(rows))


@PROFILE
@given(st.sampled_from(SOLUTIONS), st.lists(st.sampled_from(WHOLE), max_size=4), st.integers(0, 10**9))
def test_hostile_definitions_between_kernels(source: str, texts: list[str], seed: int) -> None:
    chance = random.Random(seed)
    parts = source.split("\n\n\n")
    for text in texts:
        parts.insert(chance.randrange(len(parts) + 1), text.replace("TRAP", "'trap'"))
    check("\n\n\n".join(parts))


@PROFILE
@given(st.sampled_from(SOLUTIONS), st.integers(0, 10**9), st.integers(1, 3))
def test_hostile_expressions_in_the_place_of_any_other(source: str, seed: int, count: int) -> None:
    chance, tree = random.Random(seed), ast.parse(source)
    for _ in range(count):
        spots = [
            (parent, field, place)
            for parent in ast.walk(tree)
            for field, value in ast.iter_fields(parent)
            for place, node in enumerate(value if isinstance(value, list) else [value])
            if isinstance(node, ast.expr) and not isinstance(getattr(node, "ctx", None), ast.Store)
        ]
        parent, field, place = chance.choice(spots)
        value = getattr(parent, field)
        if isinstance(value, list):
            value[place] = chance.choice(EXPRESSIONS)
        else:
            setattr(parent, field, chance.choice(EXPRESSIONS))
    try:
        text = ast.unparse(tree)
    except (ValueError, RecursionError):
        return
    check(text)
