"""Lifted modules really run: in Triton's interpreter on CPU tensors, and through its compiler without a GPU."""

from __future__ import annotations

import os
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

from autograder.lift import lift

from .making import FLASH, HEAD, kernel, lifted

pytest.importorskip("triton", reason="Triton is not installed")
torch = pytest.importorskip("torch", reason="PyTorch is not installed")

RUN = """
import sys, torch, triton, triton.language as tl
space = {"triton": triton, "tl": tl, "__name__": "student"}
path = sys.argv[1]
exec(compile(open(path, encoding="utf-8").read(), path, "exec"), space)
"""


def run(folder: Path, module: str, script: str, *, interpret: bool = True) -> subprocess.CompletedProcess[str]:
    """Execute a clean module in a process of its own, then ``script`` in the same namespace."""
    (folder / "student.py").write_text(module, encoding="utf-8", newline="\n")
    environment = {
        name: value for name, value in os.environ.items() if not name.startswith("TRITON_") and name != "PYTHONWARNINGS"
    }
    environment |= {"TRITON_CACHE_DIR": str(folder / "cache"), "TRITON_DEFAULT_FP_FUSION": "1"}
    if interpret:
        environment["TRITON_INTERPRET"] = "1"
    code = RUN + textwrap.dedent(script)
    return subprocess.run(
        [sys.executable, "-c", code, str(folder / "student.py")],
        env=environment,
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )


ATTENTION = """
torch.manual_seed(0)
q, k, v = (torch.randn(37, 16) for _ in range(3))
o = torch.full((37, 16), float("nan"))
space["flash"][(3,)](q, k, v, o, 37, 0.25, BLOCK=16)
right = torch.softmax(q.double() @ k.double().T * 0.25, 1) @ v.double()
print("error", float((o - right).abs().max()))
assert (o - right).abs().max() < 1e-5
"""

COMPILE = """
from triton.backends.compiler import GPUTarget
from triton.compiler import ASTSource
kernel = space["flash"]
signature = {name: "*fp32" for name in ("q_ptr", "k_ptr", "v_ptr", "o_ptr")}
signature |= {"n": "i32", "scale": "fp32", "BLOCK": "constexpr", "D": "constexpr"}
constants = {(kernel.arg_names.index("BLOCK"),): 16, (kernel.arg_names.index("D"),): 16}
made = triton.compile(ASTSource(kernel, signature, constants), target=GPUTarget("cuda", 80, 32))
assert "tt.dot" in made.asm["ttir"]
print("compiled")
"""

ODD = (
    FLASH.replace("    ", "\t")
    .replace("import triton.language as tl", "import triton.language as language\nfrom triton.language import *")
    .replace("tl.exp2", "exp2")
    .replace("tl.", "language.")
    .replace("@triton.jit\ndef scores(", "@triton.jit(\n\tnoinline=False\n)\n# a comment\n\ndef \\\n\tscores (\n\t\t")
    .replace("return language.where", "print('''\ndef evil(): pass\n'''); return language.where")
    .replace("for start in range(", "for start in \\\n\t\trange(")
    .replace("\n", "\r\n")
)


@pytest.mark.parametrize("source", [FLASH, ODD], ids=["plain", "odd"])
def test_an_attention_kernel_with_helpers_and_constants_computes_attention(source: str, tmp_path: Path) -> None:
    file = lift(source, [])
    assert file.problem_of(["flash"]) is None
    done = run(tmp_path, file.module(["flash"]), ATTENTION)
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("source", [FLASH, ODD], ids=["plain", "odd"])
@pytest.mark.skipif(sys.platform != "linux", reason="Triton's compiler exists on Linux only")
def test_the_same_module_goes_through_tritons_compiler(source: str, tmp_path: Path) -> None:
    done = run(tmp_path, lift(source, []).module(["flash"]), COMPILE, interpret=False)
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize(
    "statement",
    [
        "x = tl.load(x_ptr + tl.arange(0, 3))",
        "x = tl.load(\n    x_ptr + tl.arange(0, B)\n    + tl.zeros((3, 3, 5), tl.int32))",
    ],
)
def test_an_error_names_the_students_line(statement: str, tmp_path: Path) -> None:
    source = kernel(f'"""Text\ndef evil(): pass\n"""\nprint("a",\n  "b")\n\n# comment\n{statement}\ntl.store(x_ptr, x)')
    line = source[: source.index("    x = tl.load")].count("\n") + 1
    script = f"""
    import traceback
    x = torch.zeros(16)
    try:
        space["f"][(1,)](x, 16, B=16)
    except Exception as error:
        lines = []
        while error is not None:
            lines += [one.lineno for one in traceback.extract_tb(error.__traceback__) if one.filename == path]
            error = error.__cause__
        assert lines and {line} <= lines[-1] <= {line + statement.count(chr(10))}, lines
    else:
        raise SystemExit("no error")
    """
    done = run(tmp_path, lifted(source).module(["f"]), script)
    assert done.returncode == 0, done.stderr


CONSTANTS = """
NEG = tl.constexpr(float("-inf"))
TWO: tl.constexpr = 2
HALF = tl.constexpr(1 / TWO)
ON = tl.constexpr(True)
"""
USES = """\
offs = tl.arange(0, B)
x = tl.load(x_ptr + offs, mask=offs < n, other=NEG)
y = tl.full((B,), NEG, tl.float32)
if ON and n is not None:
    y = tl.maximum(x, NEG) * TWO + HALF * x - TWO
for i in range(0, n, TWO):
    y += i * HALF
for j in tl.static_range(TWO):
    y = tl.where(y > NEG, y + j, y)
z: tl.constexpr = TWO * 2 + 1
y = y * z if TWO == 2 else y
tl.store(x_ptr + offs, -y / TWO, mask=offs < n)"""


def test_constants_work_wherever_numbers_do(tmp_path: Path) -> None:
    script = """
    x = torch.arange(16.0)
    want = x.clone()
    y = want * 2 + 0.5 * want - 2
    y += 0 + 1 + 2 + 3 + 4 + 5
    y = (y + 1) * 5
    space["f"][(1,)](x, 12, B=16)
    want[:12] = -y[:12] / 2
    assert torch.allclose(x, want), (x, want)
    """
    done = run(tmp_path, lifted(kernel(USES, above=CONSTANTS)).module(["f"]), script)
    assert done.returncode == 0, done.stderr


def test_the_known_hole_is_a_hole_in_triton_and_closed_here(tmp_path: Path) -> None:
    trap = tmp_path / "trap"
    evil = f"'''\ndef f(x_ptr, n, B, ran=open({str(trap)!r}, 'w')):\n    pass\n    # '''"
    source = kernel(f"{evil}\ntl.store(x_ptr, 1.0)")
    script = """
    x = torch.zeros(16)
    space["f"][(1,)](x, 16, B=16)
    print(x[0].item())
    """
    raw = run(tmp_path, source, script)
    assert trap.exists(), raw.stderr
    trap.unlink()
    done = run(tmp_path, lifted(source).module(["f"]), script)
    assert done.stdout == "1.0\n", done.stderr
    assert not trap.exists()


def test_reduce_with_a_function_of_the_file_runs(tmp_path: Path) -> None:
    source = HEAD + (
        "@triton.jit\ndef add(a, b):\n    return a + b\n\n\n"
        "@triton.jit\ndef f(x_ptr, B: tl.constexpr):\n"
        "    x = tl.load(x_ptr + tl.arange(0, B))\n    tl.store(x_ptr, tl.reduce(x, 0, add))\n"
    )
    script = """
    x = torch.ones(16)
    space["f"][(1,)](x, B=16)
    assert x[0].item() == 16
    """
    done = run(tmp_path, lifted(source).module(["f"]), script)
    assert done.returncode == 0, done.stderr
