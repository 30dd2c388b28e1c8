"""Attention on the GPU at hand: the course's reference and Everest beside torch, with what each step brings.

    python benchmarks/attention.py                                everything; about four minutes on an H200
    python benchmarks/attention.py --only main                    the large shapes alone
    python benchmarks/attention.py --markdown benchmarks/attention.md
    python benchmarks/attention.py --check benchmarks/attention.md   exit 1 where a ratio fell by over a tenth

The parts are the large shapes, each step of the reference turned off by itself, small sizes, float32, and the backward
pass.  Every variant is compared with attention in a wider type before it is timed, and one that is wrong is not.  All
variants of a shape take turns (`autograder.worker.timing`), and inputs rotate.
"""

from __future__ import annotations

import argparse
import platform
import shlex
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import attention_steps as steps
import torch
import triton
from attention_problem import ROOT, Gradients, Problem, Row, Shape, Variant, everest, fast_backward, load, measure
from attention_tables import Table, fallen, lines, milliseconds, ratios_in
from torch.nn.attention import SDPBackend

from autograder.worker.timing import CudaClock, take_turns

__all__ = ["Problem", "Row", "Shape", "Table", "fallen", "lines", "measure", "ratios_in"]

LESSON = ROOT / "course" / "exercises" / "lesson7"
EXERCISE = LESSON / "go_fast"
TORCH = {"torch flash": "flash", "torch cuDNN": "cudnn"}
PARTS = ("main", "steps", "small", "float32", "backward")

LARGE = [
    Shape(b, h, n, d, causal)
    for b, h, n, d in ((4, 16, 4096, 128), (1, 16, 16384, 128), (4, 32, 4096, 64))
    for causal in (False, True)
]
SMALL = [Shape(4, 16, n, d, causal) for n in (512, 1024) for d in (64, 128) for causal in (False, True)]
SINGLE = [Shape(2, 8, 2048, 64, causal, "float32") for causal in (False, True)]
ONE_HEAD = [Shape(1, 1, 4096, 64, causal, "float32") for causal in (False, True)]  # what lesson 7's backward pass takes
# BLOCK_M, BLOCK_N, num_warps, num_stages that are tried beside the settings of solutions/fast_backward.py
BACKWARD = {
    64: [(64, 128, 8, 2), (64, 64, 4, 2), (64, 64, 4, 4), (128, 128, 8, 2)],
    128: [(32, 128, 8, 2), (64, 128, 8, 1), (64, 64, 8, 2), (64, 64, 4, 2)],
}


class PatientClock(CudaClock):
    """For launches that are short beside what the processor needs for one: all of a turn's queue up first."""

    def get_ahead(self) -> None:
        torch.cuda._sleep(24_000_000)


class Run:
    """All parts, one after another."""

    def __init__(self, clock: Any, device: str = "cuda") -> None:
        self.bench = load(EXERCISE / "bench.py")
        self.launch = load(EXERCISE / "launch.py")
        self.solution = load(ROOT / "solutions" / "lesson7" / "go_fast.py")
        self.clock, self.device = clock, device
        self.no_everest = everest.missing()

    def _variants(self, problem: Problem) -> dict[str, Variant]:
        variants = {name: problem.torch_variant(function) for name, function in TORCH.items()}
        variants["Triton reference"] = problem.reference(self.launch, self.solution)
        if self.no_everest is None:
            variants["Everest"] = problem.everest()
        return variants

    def main(self) -> Table:
        return self._table("Large shapes", LARGE, self._variants)

    def small(self) -> Table:
        return self._table("Small sizes", SMALL, self._variants, launches=True, clock=PatientClock)

    def steps(self) -> Table:
        def variants(problem: Problem) -> dict[str, Variant]:
            head = problem.shape.head_dim
            settings, all_on = self._settings(head), self.switches()
            found: dict[str, Variant] = {
                "torch flash": problem.torch_variant("flash"),
                "all steps": problem.with_steps(settings, all_on),
            }
            for name, switches in steps.OFF.items():
                if problem.shape.causal or name not in steps.CAUSAL_ONLY:
                    found[name] = problem.with_steps(settings, {**all_on, **switches})
            found["scores beside the softmax"] = problem.with_steps(settings, {**all_on, "AHEAD": 1})
            found["the same, weights in shared memory"] = problem.with_steps(settings, {**all_on, "AHEAD": 2})
            large = {"BLOCK_M": 128, "BLOCK_N": 128, "num_warps": 8, "num_stages": 2}
            large_ahead = {3: "weighted sums beside the softmax", 4: "both products beside the softmax"}
            for ahead, what in large_ahead.items():
                found[f"one large program, {what}"] = problem.with_steps(large, {**all_on, "AHEAD": ahead})
            found["one large program a multiprocessor (128 x 128)"] = problem.with_steps(large, all_on)
            return found

        return self._table("One step off at a time", LARGE, variants, rounds=4)

    def backward(self) -> Table:
        """Five products, as all of them are compared; the walk of lesson 7 takes seven."""
        table = Table("Backward", products=5)
        plain = (
            load(LESSON / "flash_backward" / "launch.py"),
            load(ROOT / "solutions" / "lesson7" / "flash_backward.py"),
        )
        for shape in LARGE + ONE_HEAD:
            problem = Gradients(shape, self.bench, self.clock, self.device)
            variants: dict[str, Variant] = {}
            if shape.dtype == "float32":
                variants["torch efficient"] = problem.torch_variant(SDPBackend.EFFICIENT_ATTENTION)
                variants["Triton plain (lesson 7)"] = problem.plain(*plain)
            else:
                variants["torch flash"] = problem.torch_variant(SDPBackend.FLASH_ATTENTION)
                variants["torch cuDNN"] = problem.torch_variant(SDPBackend.CUDNN_ATTENTION)
                variants["Triton fast"] = problem.fast(fast_backward.attention_backward)
                for m, n, warps, stages in BACKWARD[shape.head_dim]:
                    settings = {"BLOCK_M": m, "BLOCK_N": n, "num_warps": warps, "num_stages": stages}
                    if settings != fast_backward.LAUNCH[shape.head_dim]:
                        name = f"Triton fast {m} x {n}, {warps} warps, {stages} stages"
                        variants[name] = problem.fast(fast_backward.attention_backward, settings)
            self._add(table, problem, variants, rounds=3)
            del problem
            torch.cuda.empty_cache()
        return table

    def switches(self) -> dict[str, Any]:
        """Those of the reference."""
        return {"GROUP": self.solution.GROUP.value}

    def float32(self) -> Table:
        def variants(problem: Problem) -> dict[str, Variant]:
            found = {f"torch {name}": problem.torch_variant(name) for name in ("efficient", "unfused")}
            for precision in ("ieee", "tf32x3"):
                for m, n, warps in ((32, 32, 4), (64, 32, 4), (64, 32, 8), (64, 64, 8), (128, 32, 8)):
                    settings = {"BLOCK_M": m, "BLOCK_N": n, "num_warps": warps, "num_stages": 2}
                    switches = {"PRECISION": precision}
                    found[f"Triton {precision} {m}x{n}, {warps} warps"] = problem.with_steps(settings, switches)
            return found

        return self._table("float32", SINGLE, variants)

    def compile(self, variants: Mapping[str, Variant]) -> None:
        """Compile kernels of ours side by side; what fails here fails again, and is reported, when it is run alone."""
        if self.device != "cuda":
            return
        own = [variant for name, variant in variants.items() if not name.startswith("torch")]
        with ThreadPoolExecutor() as executor:
            for future in [executor.submit(variant, 0) for variant in own]:
                future.exception()
        self.clock.settle()

    def _settings(self, head_dim: int) -> dict[str, Any]:
        settings = dict(self.solution.LAUNCH[head_dim])
        return {name: value for name, value in settings.items() if name not in ("descriptors", "programs")}

    def _table(
        self,
        title: str,
        shapes: Sequence[Shape],
        variants: Callable[[Problem], dict[str, Variant]],
        rounds: int = 5,
        launches: bool = False,
        clock: Callable[[], Any] | None = None,
    ) -> Table:
        table = Table(title)
        for shape in shapes:
            problem = Problem(shape, self.bench, clock() if clock else self.clock, self.device)
            self._add(table, problem, variants(problem), rounds, launches)
            del problem
            torch.cuda.empty_cache()
        return table

    def _add(
        self,
        table: Table,
        problem: Problem | Gradients,
        variants: Mapping[str, Variant],
        rounds: int,
        launches: bool = False,
    ) -> None:
        self.compile(variants)
        rows = measure(problem, variants, rounds, launches)
        table.rows += rows
        for row in rows:
            print(f"  {problem.shape}: {row.name}: {milliseconds(row)}", file=sys.stderr, flush=True)


def heading(run: Run, arguments: Sequence[str]) -> Iterator[str]:
    device = torch.cuda.get_device_properties(0)
    left, right = (torch.randn(8192, 8192, device="cuda", dtype=torch.bfloat16) for _ in range(2))
    source = torch.empty(2**29, dtype=torch.uint8, device="cuda")
    target = torch.empty_like(source)
    turns = {"matmul": lambda _: left @ right, "copy": lambda _: target.copy_(source)}
    times = take_turns(turns, run.clock, 3, 0.02)
    yield "# Attention"
    yield ""
    yield f"Made by `{shlex.join(['python', 'benchmarks/attention.py', *arguments])}`."
    yield ""
    yield (
        f"{device.name}, {device.multi_processor_count} multiprocessors; torch {torch.__version__}, "
        f"CUDA {torch.version.cuda}, cuDNN {torch.backends.cudnn.version()}, Triton {triton.__version__}, "
        f"Python {platform.python_version()}."
    )
    yield (
        f"The roof in the same run: {2 * 8192**3 / times['matmul'].median / 1e12:.0f} TFLOP/s, a bfloat16 matmul of "
        f"8192; {2 * source.numel() / times['copy'].median / 1e9:.0f} GB/s, a copy."
    )
    if run.no_everest is not None:
        yield f"Without Everest: {run.no_everest}"
    yield ""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", choices=PARTS, action="append", help="this part; may be repeated")
    parser.add_argument("--markdown", type=Path, help="also write the tables there")
    parser.add_argument("--check", type=Path, help="compare ratios with a table that was written earlier")
    options = parser.parse_args()
    if not torch.cuda.is_available():
        sys.exit("benchmarks/attention.py needs a CUDA GPU, and there is none here.")
    before = options.check.read_text(encoding="utf-8") if options.check else ""
    run = Run(CudaClock())
    found = list(heading(run, sys.argv[1:]))
    print("\n".join(found), flush=True)
    wrong = False
    for part in options.only or PARTS:
        start = time.monotonic()
        table = getattr(run, part)()
        print(f"  {part}: {time.monotonic() - start:.0f} s", file=sys.stderr, flush=True)
        wrong = wrong or any(row.note.startswith("WRONG") for row in table.rows)
        text = list(lines(table))
        print("\n".join(text), flush=True)
        found += text
        if options.markdown:  # after each part, so that an end by a time limit leaves what there is
            options.markdown.write_text("\n".join(found).rstrip() + "\n", encoding="utf-8")
    complaints = fallen(before, "\n".join(found))
    print("\n".join(complaints))
    sys.exit(1 if wrong or complaints else 0)


if __name__ == "__main__":
    main()
