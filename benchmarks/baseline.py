"""The floor: one process that launches the same kernels on the same cases, with no checking at all.

    python benchmarks/baseline.py RESULT.json

The case list is read from the result document of a run: every check that ran there is launched here, on the same
inputs, straight from the solution files.  Nothing is compared, guarded or forked.
"""

from __future__ import annotations

import importlib.util
import json
import os
import sys
from pathlib import Path
from types import ModuleType

ROOT = Path(__file__).parents[1]
for variable in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "TRITON_INTERPRET"):
    os.environ[variable] = "1"
sys.path.insert(0, str(ROOT))


def load(path: Path) -> ModuleType:
    spec = importlib.util.spec_from_file_location(path.parent.name + "_" + path.stem, path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def main() -> None:
    import torch

    from autograder.catalogue import load_course

    document = json.loads(Path(sys.argv[1]).read_text(encoding="utf-8"))
    course = load_course(ROOT)
    launched = 0
    for entry in document["exercises"]:
        exercise = course.exercise(entry["id"])
        solution, launch = load(ROOT / "solutions" / exercise.stub), load(exercise.launch)
        oracle = load(exercise.oracle)
        ran = {check["id"] for check in entry["checks"] if check["outcome"] == "pass"}
        for check in exercise.checks:
            if check.id not in ran:
                continue
            inputs = oracle.make_inputs(check.case, torch.Generator().manual_seed(0))
            outputs = {
                name: torch.empty(shape, dtype=getattr(torch, dtype))
                for name, (shape, dtype) in launch.outputs(check.case).items()
            }
            launch.launch(unchecked, solution, check.case, inputs, outputs)
            launched += 1
    print(f"{launched} launches")


def unchecked(kernel, grid, *args, **meta):  # type: ignore[no-untyped-def]
    kernel[grid](*args, **meta)


if __name__ == "__main__":
    main()
