"""Everest compiles for a Hopper GPU without one, and says in a sentence why it does not run elsewhere."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

FOLDER = Path(__file__).parents[2] / "solutions"

# In a process of its own, in which Triton compiles.  As far as the layouts, which the front end and its checks precede.
COMPILED = """
import sys
sys.path.insert(0, sys.argv[1])
import everest, triton
from triton._C.libtriton import ir
from triton.backends.compiler import GPUTarget
from triton.compiler import make_backend
from triton.experimental.gluon import language as gl
from triton.experimental.gluon._runtime import GluonASTSource

target = GPUTarget("cuda", 90, 32)
backend = make_backend(target)
for head, causal, ragged, short, dtype in (
    (128, True, False, "bf16", gl.bfloat16),
    (128, False, True, "fp16", gl.float16),
    (64, True, False, "fp16", gl.float16),
    (64, False, True, "bf16", gl.bfloat16),
):
    def tile(rows):
        layout = gl.NVMMASharedLayout.get_default_for([1, rows, head], dtype)
        return f"tensordesc<{short}[1, {rows}, {head}],{layout!r}>"

    signature = {"q_desc": tile(64), "k_desc": tile(128), "v_desc": tile(128), "o_desc": tile(64)}
    signature |= {"lse_ptr": "*fp32", "seqlen": "i32", "heads": "i32", "qk_scale": "fp32"}
    constants = {"BLOCK_N": 128, "D": head, "CAUSAL": causal, "RAGGED": ragged, "STAGES": 2, "GROUP": 4}
    signature |= dict.fromkeys(constants, "constexpr")
    places = {(8 + number,): value for number, value in enumerate(constants.values())}
    kernel = everest.warp_specialised if head == 128 else everest.one_warpgroup
    source = GluonASTSource(kernel, signature, places)
    options = backend.parse_options({"num_warps": 4, **source.parse_options()})
    context = ir.context()
    ir.load_dialects(context)
    backend.load_dialects(context)
    functions = backend.get_codegen_implementation(options), backend.get_module_map()
    module = source.make_ir(target, options, *functions, context)
    stages = {}
    backend.add_stages(stages, options, source.language)
    text = str(stages["ttgir"](module, {"target": target, **options.__dict__}))
    assert "warp_group_dot" in text
    assert ("warp_specialize" in text) == (head == 128)
print("compiled")
"""


def test_both_kernels_pass_the_compilers_checks() -> None:
    environment = {**os.environ, "TRITON_DEFAULT_FP_FUSION": "1"}
    environment.pop("TRITON_INTERPRET", None)
    done = subprocess.run(
        [sys.executable, "-c", COMPILED, str(FOLDER)], capture_output=True, text=True, env=environment, timeout=300
    )
    assert "compiled" in done.stdout, done.stderr[-3000:]


def test_where_it_cannot_run_it_says_why(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(FOLDER))
    import everest
    import torch

    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    assert everest.missing() == "Everest needs a Hopper GPU (H100, H200), and there is no CUDA GPU here."
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    monkeypatch.setattr(torch.cuda, "get_device_capability", lambda: (10, 0))
    assert everest.missing() == "Everest is written for Hopper GPUs (sm_90), and this is an sm_100."
    monkeypatch.setattr(torch.cuda, "get_device_capability", lambda: (9, 0))
    assert everest.missing() is None
    monkeypatch.setattr(everest, "PROBLEM", "This Triton has another Gluon.")
    x = torch.zeros(1, 1, 64, 64, dtype=torch.float16)
    with pytest.raises(RuntimeError, match="another Gluon"):
        everest.attention(x, x, x, causal=False)
