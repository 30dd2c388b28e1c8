"""Small student files, and an audit of lifted modules that shares no code with the lift."""

from __future__ import annotations

import ast
import re

from autograder.lift import LiftedFile, Problem, Wanted, lift

HEAD = "import triton\nimport triton.language as tl\n\n\n"

FLASH = '''\
"""A student's whole file."""

import math

import torch
import triton
import triton.language as tl

LOG2E = tl.constexpr(1.4426950408889634)
NEG_INF = tl.constexpr(float("-inf"))
DEBUG = True


@triton.jit
def scores(q, k, scale, offs_n, n):
    """Scaled scores;

def evil(): this line must not become a function
    """
    s = tl.dot(q, tl.trans(k), input_precision="ieee") * scale
    return tl.where(offs_n[None, :] < n, s, NEG_INF)  # ghosts: größer


@triton.jit
def update(m_i, l_i, acc, s, v):
    m_new = tl.maximum(m_i, tl.max(s, 1))
    safe = tl.where(m_new == float("-inf"), 0.0, m_new)
    alpha = tl.exp2((m_i - safe) * LOG2E)
    p = tl.exp2((s - safe[:, None]) * LOG2E)
    print("tile", p)
    return m_new, l_i * alpha + tl.sum(p, 1), acc * alpha[:, None] + tl.dot(p, v, input_precision="ieee")


@triton.jit
def flash(
    q_ptr, k_ptr, v_ptr, o_ptr,
    n,  # length
    scale,
    BLOCK: tl.constexpr,
    D: tl.constexpr = 16,
) -> None:
    offs_m: tl.tensor = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    offs_d = tl.arange(0, D)
    q = tl.load(q_ptr + offs_m[:, None] * D + offs_d[None, :], mask=offs_m[:, None] < n, other=0.0)
    m_i = tl.full((BLOCK,), NEG_INF, tl.float32)
    l_i = tl.zeros([BLOCK], dtype=tl.float32)
    acc = tl.zeros([BLOCK, D], dtype=tl.float32)
    for start in range(0, n, BLOCK):
        offs_n = start + tl.arange(0, BLOCK)
        kv = offs_n[:, None] * D + offs_d[None, :]
        k = tl.load(k_ptr + kv, mask=offs_n[:, None] < n, other=0.0)
        v = tl.load(v_ptr + kv, mask=offs_n[:, None] < n, other=0.0)
        s = scores(q, k, scale, offs_n, n)
        m_i, l_i, acc = update(m_i, l_i, acc, s, v)
    o = acc / tl.where(l_i == 0, 1.0, l_i)[:, None]
    tl.store(
        o_ptr + offs_m[:, None] * D + offs_d[None, :],
        o.to(o_ptr.dtype.element_ty),
        mask=offs_m[:, None] < n,
    )


def launch(q, k, v):
    o = torch.empty_like(q)
    flash[(triton.cdiv(len(q), 16),)](q, k, v, o, len(q), 1 / math.sqrt(16), BLOCK=16)
    return o


if DEBUG:
    print("this never runs")
'''


def kernel(body: str, *, above: str = "", parameters: str = "x_ptr, n, B: tl.constexpr") -> str:
    """A file with one kernel ``f``; ``body`` is indented by four spaces."""
    lines = "\n".join("    " + line if line else "" for line in body.split("\n"))
    return f"{HEAD}{above}\n@triton.jit\ndef f({parameters}):\n{lines}\n"


def lifted(source: str, *names: str, **options: frozenset[str]) -> LiftedFile:
    """Lift a file of which ``names`` (``f`` if none) are called by the course, whatever their parameters."""
    return lift(source + CALLER.format(", ".join(f"{name}()" for name in names or ("f",))), [], **options)


CALLER = "\n\n@triton.jit\ndef course_calls():\n    return {}\n"


def problem(source: str, name: str = "f", **options: frozenset[str]) -> Problem:
    """The problem with one function of a file."""
    return lifted(source, name, **options).problems[name]


def body(source: str, name: str = "f") -> str:
    """The clean module of one function that lifts, without empty lines."""
    file = lifted(source, name)
    assert file.problem_of([name]) is None, file.problem_of([name])
    text = file.module([name])
    audit(text)
    return "\n".join(line for line in text.split("\n") if line)


def anything(name: str, *parameters: str) -> Wanted:
    return Wanted(name, parameters, frozenset())


# The audit ---------------------------------------------------------------------------------------------------

_NODES = re.compile(
    r"Module|FunctionDef|arguments|arg|Return|Assign|AugAssign|AnnAssign|For|While|If|Expr|Pass|BinOp|UnaryOp|BoolOp|"
    r"Compare|IfExp|Call|keyword|Constant|Attribute|Name|Subscript|Slice|Tuple|List|Load|Store|Add|Sub|Mult|Div|FloorDiv|"
    r"Mod|Pow|LShift|RShift|BitAnd|BitOr|BitXor|USub|UAdd|Not|Invert|And|Or|Eq|NotEq|Lt|LtE|Gt|GtE|Is|IsNot"
)
_BUILTINS = {"range", "min", "max", "float", "int", "len"}
_FORBIDDEN_ATTRIBUTES = re.compile(
    r"_|handle$|data|type$|fn$|src|format|value$|atomic|inline|make_|advance|store_|load_|extra|core|builtin|gather"
)


def audit(text: str, without: tuple[str, ...] = ()) -> None:
    """Assert that a clean module holds nothing but vetted kernels and constants."""
    assert re.fullmatch(r"[\t\n -~]*", text), "only printable ASCII, tabs and newlines"
    assert "#" not in text
    tree = ast.parse(text)
    own = {node.name for node in tree.body if isinstance(node, ast.FunctionDef)} | set(without)
    constants = set()
    for node in tree.body:
        if isinstance(node, ast.Assign):
            assert re.fullmatch(r"\w+ = tl\.constexpr\([-\w.+(\"]+\)*", ast.unparse(node).replace("'", '"'))
            constants.add(ast.unparse(node.targets[0]))
        else:
            assert isinstance(node, ast.FunctionDef)
            assert [ast.unparse(decorator) for decorator in node.decorator_list] == ["triton.jit"]
    for node in tree.body:
        if isinstance(node, ast.FunctionDef):
            _audit_function(node, own | constants | _BUILTINS | {"tl", "triton"})
    starts = [line for line in text.split("\n") if line.strip().startswith("def ")]
    assert len(starts) == len(own) - len(without), "the interpreter looks for the last line that begins with def"


def _audit_function(function: ast.FunctionDef, known: set[str]) -> None:
    local = {node.arg for node in ast.walk(function) if isinstance(node, ast.arg)}
    local |= {node.id for node in ast.walk(function) if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)}
    assert not local & {"tl", "triton", "range", "interpreter_semantic"}
    inner = [node for node in ast.walk(function) if node is not function]
    for node in inner:
        assert _NODES.fullmatch(type(node).__name__)
        assert not isinstance(node, ast.FunctionDef)
        if isinstance(node, ast.Name):
            assert node.id in known | local, node.id
            assert not node.id.startswith("__")
        if isinstance(node, ast.Attribute):
            assert not _FORBIDDEN_ATTRIBUTES.match(node.attr) or node.attr in {"type", "value"}, node.attr
            assert isinstance(node.ctx, ast.Load)
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            assert node.lineno == node.end_lineno
            assert re.fullmatch(r"[\w.+-]*", node.value)
        if isinstance(node, ast.Call):
            assert isinstance(node.func, ast.Name | ast.Attribute)
            assert not isinstance(node.func, ast.Name) or node.func.id in known - {"tl", "triton"}
        if isinstance(node, ast.arg):
            assert node.annotation is None or ast.unparse(node.annotation) == "tl.constexpr"
