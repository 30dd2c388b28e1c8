"""The tables of benchmarks/attention.py can be read back, a ratio that fell is named, and all variants are right."""

from __future__ import annotations

import importlib.util
import os
import subprocess
import sys
from pathlib import Path
from types import ModuleType

import pytest

from autograder.worker.timing import Spread

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def attention() -> ModuleType:
    sys.path.insert(0, str(ROOT / "benchmarks"))
    spec = importlib.util.spec_from_file_location("benchmarks_attention", ROOT / "benchmarks" / "attention.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module  # dataclasses look their module up
    spec.loader.exec_module(module)
    return module


def table(attention: ModuleType, reference: float, note: str = "") -> str:
    rows = []
    for shape in attention.LARGE[:2]:
        flash = attention.Row(shape, "torch flash", 0.0, Spread(3e-3, 3e-3, 3e-3))
        ours = attention.Row(shape, "Triton reference", 0.0, Spread(reference, reference, reference), note=note)
        if note:
            ours.spread = None
        rows += [flash, ours]
    return "\n".join(attention.lines(attention.Table("Large shapes", rows)))


def test_ratios_are_read_back_from_a_table(attention: ModuleType) -> None:
    found = attention.ratios_in(table(attention, 2e-3))
    assert found[str(attention.LARGE[0]), "Triton reference"] == 1.5
    assert len(found) == 2


def test_a_ratio_that_fell_is_named_and_one_that_rose_is_not(attention: ModuleType) -> None:
    before = table(attention, 2e-3)
    assert attention.fallen(before, table(attention, 2.1e-3)) == []
    assert attention.fallen(before, table(attention, 1e-3)) == []
    fell = attention.fallen(before, table(attention, 3e-3))
    assert len(fell) == 2
    assert "is 1.00 times torch's flash backend; it was 1.50." in fell[0]


def test_a_variant_that_is_wrong_now_is_named(attention: ModuleType) -> None:
    fell = attention.fallen(table(attention, 2e-3), table(attention, 2e-3, note="WRONG: error 1"))
    assert len(fell) == 2
    assert "has no ratio now" in fell[0]


def test_parts_that_were_not_run_are_not_missed(attention: ModuleType) -> None:
    assert attention.fallen(table(attention, 2e-3), "") == []


def test_means_are_geometric(attention: ModuleType) -> None:
    assert "Triton reference, geometric mean: 1.500x torch flash (2 shapes)" in table(attention, 2e-3)


# In a process of its own: the interpreter is chosen when triton is imported.
EVERY_VARIANT = """
import sys
sys.path[:0] = [sys.argv[1] + "/benchmarks", sys.argv[1]]
import attention, attention_steps as steps
from autograder.worker.timing import ProcessorClock

run = attention.Run(ProcessorClock(), "cpu")
for causal in (False, True):
    problem = attention.Problem(attention.Shape(1, 2, 256, 64, causal, "float16"), run.bench, run.clock, "cpu")
    bar = 4 * problem.first("flash", problem.torch_variant("flash")).error
    for wide, tall in ((64, 32), (32, 64)):
        settings = {"BLOCK_M": tall, "BLOCK_N": wide, "num_warps": 4, "num_stages": 2}
        variants = {"full": {"GROUP": 2}, "ahead": {"AHEAD": 1}, "ahead in half": {"AHEAD": 2}, **steps.OFF}
        if tall <= wide:
            for way in (3, 4):
                variants |= {f"{way}": {"AHEAD": way}, f"{way}, all masked": {"AHEAD": way, "SPLIT": False}}
        for name, switches in variants.items():
            row = problem.first(name, problem.with_steps(settings, switches))
            assert row.error <= bar, (causal, wide, name, row)
        run.solution.LAUNCH[64].update(BLOCK_M=64, BLOCK_N=wide)
        row = problem.first("reference", problem.reference(run.launch, run.solution))
        assert row.error <= bar, (causal, wide, row)
print("all right")
"""


@pytest.mark.exhaustive
def test_every_step_on_or_off_gives_the_same_attention() -> None:
    environment = {**os.environ, "TRITON_INTERPRET": "1", "OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}
    done = subprocess.run(
        [sys.executable, "-c", EVERY_VARIANT, str(ROOT)], capture_output=True, text=True, env=environment, timeout=300
    )
    assert done.stdout.strip() == "all right", done.stderr[-2000:]


def test_rows_with_launches_have_a_cell_for_every_title(attention: ModuleType) -> None:
    shape, spread = attention.SMALL[0], Spread(1e-5, 1e-5, 2e-5)
    rows = [
        attention.Row(shape, "torch flash", 0.0, spread, launched=5e-5, replayed=1e-5),
        attention.Row(shape, "Triton reference", 0.0, spread, launched=7e-5),
        attention.Row(shape, "Everest", 1.0, note="WRONG: error 1"),
    ]
    made = [line for line in attention.lines(attention.Table("Small sizes", rows)) if line.startswith("|")]
    assert len({line.count("|") for line in made}) == 1
    assert made[2].endswith("| 50.0 | 10.0 |")
    assert made[3].endswith("| 70.0 |  |")


def test_a_backward_pass_is_counted_with_five_products(attention: ModuleType) -> None:
    row = attention.Row(attention.LARGE[0], "torch flash", 0.0, Spread(1e-3, 1e-3, 1e-3))
    forward, backward = (
        next(line for line in attention.lines(attention.Table("x", [row], products)) if "| torch flash |" in line)
        for products in (2, 5)
    )
    assert "| 550 |" in forward
    assert "| 1374 |" in backward
