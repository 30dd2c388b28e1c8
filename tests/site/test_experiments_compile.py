"""The experiments' kernels compile for the course's GPUs, on a machine that has none: readers may have one."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.site
FOLDER = Path(__file__).parents[2] / "course" / "lessons" / "experiments"
KERNELS = [path for path in sorted(FOLDER.glob("*.py")) if "@triton.jit" in path.read_text(encoding="utf-8")]
# Names say what an argument is: pointers end in _ptr, blocks are powers of two, other constants are flags.
_COMPILE = """
import ast, importlib.util, json, sys
import torch
torch.cuda.is_available = lambda: True  # so that kernels are compiled, and not interpreted
import triton
from triton.backends.compiler import GPUTarget
from triton.compiler import ASTSource

names, failed = [], {}
for path in sys.argv[1:]:
    spec = importlib.util.spec_from_file_location("experiment", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    for node in ast.parse(open(path).read()).body:
        if not (isinstance(node, ast.FunctionDef) and node.decorator_list):
            continue
        kernel, signature, constants = getattr(module, node.name), {}, {}
        for parameter in kernel.params:
            name = parameter.name
            if parameter.is_constexpr:
                signature[name] = "constexpr"
                sized = name.startswith("BLOCK") or name in ("SIZE", "STEP")
                constants[(parameter.num,)] = 16 if sized else 0.0 if name == "OTHER" else 1
            elif name.endswith("_ptr"):
                signature[name] = "*i64" if name in ("ids_ptr", "slots_ptr") else "*fp32"
            else:
                signature[name] = "i32"
        names.append(node.name)
        for target in (75, 80):
            try:
                triton.compile(ASTSource(kernel, signature, constants), target=GPUTarget("cuda", target, 32))
            except Exception as error:
                failed[f"{node.name} for sm_{target}"] = str(error)
print(json.dumps([names, failed]))
"""


def test_kernels_of_the_experiments_compile() -> None:
    environment = {**os.environ, "PYTHONPATH": str(FOLDER), "TRITON_DEFAULT_FP_FUSION": "1"}
    environment.pop("TRITON_INTERPRET", None)
    command = [sys.executable, "-c", _COMPILE, *map(str, KERNELS)]
    run = subprocess.run(command, env=environment, capture_output=True, text=True, check=False, timeout=300)
    assert run.returncode == 0, run.stderr
    names, failed = json.loads(run.stdout)
    assert len(names) > len(KERNELS)
    assert failed == {}
