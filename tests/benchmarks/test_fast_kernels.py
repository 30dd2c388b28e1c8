"""The fast kernels beside the lesson's compile for GPUs that are not here, fit there, and have the right gradients."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


def run_apart(script: str, *arguments: str, interpret: bool) -> str:
    """Run a script in a process of its own, as Triton's mode is chosen when it is imported."""
    environment = {**os.environ, "OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1", "TRITON_DEFAULT_FP_FUSION": "1"}
    environment.pop("TRITON_INTERPRET", None)
    if interpret:
        environment["TRITON_INTERPRET"] = "1"
    command = [sys.executable, "-c", script, str(ROOT), *arguments]
    done = subprocess.run(command, capture_output=True, text=True, env=environment, timeout=300)
    assert done.returncode == 0, done.stderr[-3000:]
    return done.stdout.strip()


# Prints shared memory, registers and bytes of stack, which is where spilled registers go.
COMPILED = """
import re, subprocess, sys, tempfile
from pathlib import Path
root, which, target, head = sys.argv[1], sys.argv[2], int(sys.argv[3]), int(sys.argv[4])
sys.path[:0] = [root + "/solutions", root + "/solutions/lesson7"]
import fast_backward, go_fast, triton
from triton.backends.compiler import GPUTarget
from triton.compiler import ASTSource

if which == "forward":
    kernel, settings, tall, wide = go_fast.go_fast_kernel, dict(go_fast.LAUNCH[head]), ("q", "o"), ("k", "v")
    settings.pop("descriptors"), settings.pop("programs")
else:
    kernel, settings = fast_backward.backward_kernel, dict(fast_backward.LAUNCH[head])
    tall, wide = ("q", "do"), ("k", "v", "dk", "dv")
options = {name: settings.pop(name) for name in ("num_warps", "num_stages")}
constants = {"HEAD": head, "CAUSAL": True, "TILES": target >= 90, **settings}
names = kernel.arg_names
signature, attributes = {}, {}
for number, name in enumerate(names):
    height = settings["BLOCK_M"] if name in (*tall, "dq") else settings["BLOCK_N"]
    kind = "fp32" if name == "dq" else "bf16"
    if name in constants:
        signature[name] = "constexpr"
    elif name in (*tall, *wide) or (name == "dq" and target >= 90):
        signature[name] = f"tensordesc<{kind}[{height}, {head}]>"
    else:
        signature[name] = {"NSEQ": "i32", "HEADS": "i32", "scale": "fp32"}.get(name, "*fp32")
    if signature[name].startswith("*") or name == "NSEQ":
        attributes[number,] = [["tt.divisibility", 16]]
values = {(names.index(name),): value for name, value in constants.items() if name in names}
source = ASTSource(kernel, signature, values, attributes)
compiled = triton.compile(source, target=GPUTarget("cuda", target, 32), options=options)
tool = Path(triton.__file__).parent / "backends" / "nvidia" / "bin" / "cuobjdump"
with tempfile.NamedTemporaryFile(suffix=".cubin") as file:
    file.write(compiled.asm["cubin"])
    file.flush()
    used = subprocess.run([tool, "-res-usage", file.name], capture_output=True, text=True, check=True).stdout
registers, stack = re.search(r"REG:(\\d+) STACK:(\\d+)", used).groups()
print(compiled.metadata.shared, registers, stack)
"""


@pytest.mark.exhaustive
@pytest.mark.parametrize("head", [64, 128])
@pytest.mark.parametrize("which", ["forward", "backward"])
def test_on_hopper_it_fits_with_hardly_a_spill(which: str, head: int) -> None:
    shared, registers, stack = map(int, run_apart(COMPILED, which, "90", str(head), interpret=False).split())
    assert shared <= 227 * 1024
    assert registers <= 255
    assert stack <= 160, f"{stack} bytes a thread are spilled"  # a few registers, outside of loops


@pytest.mark.parametrize("which", ["forward", "backward"])
def test_on_an_a100_it_compiles_and_its_memory_suffices(which: str) -> None:
    shared, _, _ = map(int, run_apart(COMPILED, which, "80", "64", interpret=False).split())
    assert shared <= 163 * 1024


GRADIENTS = """
import sys
sys.path.insert(0, sys.argv[1] + "/solutions")
import fast_backward
import torch

def attention(q, k, v, causal):
    s = q @ k.transpose(-1, -2) * q.shape[-1] ** -0.5
    if causal:
        s = s.masked_fill(torch.ones(s.shape[-2:], dtype=torch.bool).triu(1), float("-inf"))
    return torch.softmax(s, -1) @ v, torch.logsumexp(s, -1)

def gradients(q, k, v, grad, dtype, causal):
    own = [x.to(dtype).requires_grad_() for x in (q, k, v)]
    out, lse = attention(*own, causal)
    out.backward(grad.to(dtype))
    return out.detach(), lse.detach(), [x.grad.double() for x in own]

CASES = ((64, 64, 128, True), (64, 128, 64, True), (128, 32, 128, True), (64, 64, 64, False))
for head, block_m, block_n, causal in CASES:
    generator = torch.Generator().manual_seed(7)
    q, k, v, grad = (torch.randn(1, 2, 256, head, generator=generator).half() for _ in range(4))
    out, lse, right = gradients(q, k, v, grad, torch.float64, causal)
    _, _, plain = gradients(q, k, v, grad, torch.float16, causal)
    settings = {"BLOCK_M": block_m, "BLOCK_N": block_n, "num_warps": 8, "num_stages": 2}
    found = fast_backward.attention_backward(q, k, v, out.half(), grad, lse.float(), causal, settings=settings)
    for name, mine, theirs, truth in zip(("dq", "dk", "dv"), found, plain, right):
        error, bar = (mine.double() - truth).abs().max().item(), 2 * (theirs - truth).abs().max().item()
        assert error <= bar, (head, causal, name, error, bar)
print("all right")
"""


def test_fast_gradients_are_those_of_float64_autograd_within_twice_torchs_error() -> None:
    assert run_apart(GRADIENTS, interpret=True) == "all right"


def test_inputs_that_it_does_not_take_are_refused() -> None:
    script = """
import sys
sys.path.insert(0, sys.argv[1] + "/solutions")
import fast_backward
import torch
x, lse = torch.zeros(1, 1, 100, 64, dtype=torch.float16), torch.zeros(1, 1, 100)
try:
    fast_backward.attention_backward(x, x, x, x, x, lse, False)
except ValueError as error:
    print(error)
"""
    assert "multiple of 128" in run_apart(script, interpret=True)
