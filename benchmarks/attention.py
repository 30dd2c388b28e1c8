"""Attention forward on the GPU at hand: the course's reference and Everest beside torch, with what each step brings.

    python benchmarks/attention.py                                everything; about three minutes on an H200
    python benchmarks/attention.py --only main                    the large shapes alone
    python benchmarks/attention.py --markdown benchmarks/attention.md
    python benchmarks/attention.py --check benchmarks/attention.md   exit 1 where a ratio fell by over a tenth
    python benchmarks/attention.py --tune                         settings of LAUNCH, the best ones of each shape

Every variant is compared with float32 attention before it is timed, and one that is wrong is not.  All variants of a
shape take turns (`autograder.worker.timing`), and inputs rotate.
"""

from __future__ import annotations

import argparse
import importlib.util
import itertools
import math
import platform
import re
import shlex
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import attention_steps as steps
import torch
import triton

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT))
sys.path.insert(0, str(ROOT / "solutions"))

import everest  # noqa: E402 - found on the path above

from autograder.worker.timing import CudaClock, Spread, take_turns  # noqa: E402

EXERCISE = ROOT / "course" / "exercises" / "lesson7" / "go_fast"
TORCH = {"torch flash": "flash", "torch cuDNN": "cudnn"}
SETS = 3  # of inputs: at the large shapes each is far beyond the L2 cache
PARTS = ("main", "steps", "small", "float32")
FALL = 0.1  # of a ratio to torch's flash backend, beyond which --check complains


@dataclass(frozen=True)
class Shape:
    """One problem: every tensor is (batch, heads, seqlen, head_dim)."""

    batch: int
    heads: int
    seqlen: int
    head_dim: int
    causal: bool
    dtype: str = "bfloat16"

    def __str__(self) -> str:
        mask = "causal" if self.causal else "full"
        half = "" if self.dtype == "bfloat16" else f" {self.dtype}"
        return f"B{self.batch} H{self.heads} N{self.seqlen} D{self.head_dim} {mask}{half}"

    @property
    def case(self) -> dict[str, Any]:
        return {
            "heads": self.batch * self.heads,
            "nseq": self.seqlen,
            "head": self.head_dim,
            "causal": self.causal,
            "dtype": self.dtype,
            "scale": self.head_dim**-0.5,
        }


LARGE = [
    Shape(b, h, n, d, causal)
    for b, h, n, d in ((4, 16, 4096, 128), (1, 16, 16384, 128), (4, 32, 4096, 64))
    for causal in (False, True)
]
SMALL = [Shape(4, 16, n, d, causal) for n in (512, 1024) for d in (64, 128) for causal in (False, True)]
SINGLE = [Shape(2, 8, 2048, 64, causal, "float32") for causal in (False, True)]


@dataclass
class Row:
    """One variant of one shape; ``launched`` is what one call takes when calls follow each other, with the launch."""

    shape: Shape
    name: str
    error: float
    spread: Spread | None = None
    launched: float | None = None
    compiled: Any = None
    note: str = ""


@dataclass
class Table:
    """A part of the run."""

    title: str
    rows: list[Row] = field(default_factory=list)


Variant = Callable[[int], Any]
"""Runs on the inputs of that number, modulo SETS; what it returns has ``metadata`` where it is a compiled kernel."""


class Problem:
    """One shape with its inputs, its outputs and its right values."""

    def __init__(self, shape: Shape, bench: Any, clock: Any, device: str) -> None:
        self.shape = shape
        self.bench = bench
        self.clock = clock
        generator = torch.Generator(device).manual_seed(7)
        self.inputs = [bench.make_inputs(shape.case, generator) for _ in range(SETS)]
        rows = shape.batch * shape.heads * shape.seqlen
        self.out = torch.empty(rows, shape.head_dim, dtype=getattr(torch, shape.dtype), device=device)
        self.lse = torch.empty(rows, device=device)
        right = bench.truth(shape.case, self.inputs[0])
        self.right, self.right_lse = right["o"], right["lse"]

    def whole(self, number: int) -> list[torch.Tensor]:
        """q, k, v, out and lse as (batch, heads, seqlen, head_dim) and (batch, heads, seqlen)."""
        shape = self.shape
        size = (shape.batch, shape.heads, shape.seqlen)
        inputs = self.inputs[number % SETS]
        return [*(x.view(*size, -1) for x in (*inputs.values(), self.out)), self.lse.view(size)]

    def torch_variant(self, name: str) -> Variant:
        function = getattr(self.bench, name)
        return lambda number: function(self.shape.case, self.inputs[number % SETS])

    def reference(self, launch: Any, solution: Any) -> Variant:
        """The solution as the exercise's own launch file launches it."""

        def variant(number: int) -> Any:
            compiled = []

            def run(kernel: Any, grid: Any, *args: Any, **meta: Any) -> None:
                compiled.append(kernel[grid](*args, **meta))

            outputs = {"o": self.out, "lse": self.lse}
            launch.launch(run, solution, self.shape.case, self.inputs[number % SETS], outputs)
            return compiled[0]

        return variant

    def with_steps(self, settings: Mapping[str, Any], switches: Mapping[str, Any]) -> Variant:
        causal = self.shape.causal
        return lambda number: steps.launch(*self.whole(number), causal, settings, switches)

    def everest(self) -> Variant:
        return lambda number: everest.launch(*self.whole(number), self.shape.causal)

    def first(self, name: str, variant: Variant) -> Row:
        """Run a variant once on outputs full of NaN, and compare."""
        self.out.fill_(math.nan)
        self.lse.fill_(math.nan)
        try:
            made = variant(0)
            self.clock.settle()
        except Exception as error:  # noqa: BLE001 - a backend that does not take the inputs, a kernel that does not fit
            return Row(self.shape, name, math.nan, note=" ".join(str(error).split())[:100] or repr(error))
        own = not isinstance(made, dict)
        found = self.out if own else made["o"]
        error = (found.float() - self.right).abs().max().item()
        if own:
            # lse is compared for kernels of ours: torch keeps its own to itself.
            error = max(error, (self.lse - self.right_lse).abs().max().item() / 8)
        return Row(self.shape, name, error, compiled=made if own else None)


def measure(problem: Problem, variants: Mapping[str, Variant], rounds: int, launches: bool) -> list[Row]:
    """Check each variant, then time those that are right; torch's flash backend sets the bar."""
    rows = {name: problem.first(name, variant) for name, variant in variants.items()}
    reference = rows.get("torch flash") or next(iter(rows.values()))
    bar = max(4 * reference.error, 1e-5) if not math.isnan(reference.error) else 2e-2
    right = {}
    for name, row in rows.items():
        if row.error <= bar:
            right[name] = variants[name]
        elif not row.note:
            row.note = f"WRONG: error {row.error:.2g}, allowed {bar:.2g}"
    for name, spread in take_turns(right, problem.clock, rounds, 0.02).items():
        rows[name].spread = spread
        if launches:
            rows[name].launched = _back_to_back(right[name], problem.clock)
        if not problem.first(name, right[name]).error <= bar:
            rows[name].spread, rows[name].note = None, "WRONG: another result after the timing than before"
    return list(rows.values())


def _back_to_back(variant: Variant, clock: Any, calls: int = 200) -> float:
    """Seconds a call takes when the processor issues one after another, launch overhead and all."""
    clock.settle()
    start = time.perf_counter()
    for number in range(calls):
        variant(number)
    clock.settle()
    return (time.perf_counter() - start) / calls


def load(path: Path) -> Any:
    """A file of the course as a module."""
    spec = importlib.util.spec_from_file_location(f"{path.parent.name}_{path.stem}", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


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
        return self._table("Small sizes", SMALL, self._variants, launches=True)

    def steps(self) -> Table:
        def variants(problem: Problem) -> dict[str, Variant]:
            settings = self._settings(problem.shape.head_dim)
            found: dict[str, Variant] = {
                "torch flash": problem.torch_variant("flash"),
                "all steps": problem.with_steps(settings, {}),
                "scores a chunk ahead": problem.with_steps(settings, {"AHEAD": True}),
            }
            for name, switches in steps.OFF.items():
                if problem.shape.causal or name != "short tiles first":
                    found[name] = problem.with_steps(settings, switches)
            return found

        return self._table("One step off at a time", LARGE, variants)

    def float32(self) -> Table:
        def variants(problem: Problem) -> dict[str, Variant]:
            found = {f"torch {name}": problem.torch_variant(name) for name in ("efficient", "unfused")}
            for precision in ("ieee", "tf32x3"):
                for m, n, warps in ((64, 32, 4), (64, 64, 8), (128, 32, 8)):
                    settings = {"BLOCK_M": m, "BLOCK_N": n, "num_warps": warps, "num_stages": 2}
                    switches = {"PRECISION": precision}
                    found[f"Triton {precision} {m}x{n}, {warps} warps"] = problem.with_steps(settings, switches)
            return found

        return self._table("float32", SINGLE, variants)

    def tune(self) -> Table:
        """Settings by settings; of each shape the six best are kept."""

        def variants(problem: Problem) -> dict[str, Variant]:
            found = {name: problem.torch_variant(function) for name, function in TORCH.items()}
            own = {}
            for (m, n, warps), stages, ahead in itertools.product(TILES[problem.shape.head_dim], (2, 3, 4), (0, 1)):
                settings = {"BLOCK_M": m, "BLOCK_N": n, "num_warps": warps, "num_stages": stages}
                name = f"{m}x{n} {warps} warps {stages} stages{' ahead' if ahead else ''}"
                own[name] = problem.with_steps(settings, {"AHEAD": bool(ahead)})
            return {**found, **own}

        table = self._table("Settings", LARGE, variants, rounds=2)
        table.rows = [row for row in table.rows if row.spread is not None]
        best = []
        for _, group in _by_shape(table.rows):
            ordered = sorted(group, key=lambda row: row.spread.median if row.spread else math.inf)
            best += [row for row in ordered if row.name.startswith("torch")] + [
                row for row in ordered if not row.name.startswith("torch")
            ][:6]
        table.rows = best
        return table

    def _compile(self, variants: Mapping[str, Variant]) -> None:
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
    ) -> Table:
        table = Table(title)
        for shape in shapes:
            problem = Problem(shape, self.bench, self.clock, self.device)
            chosen = variants(problem)
            self._compile(chosen)
            rows = measure(problem, chosen, rounds, launches)
            table.rows += rows
            for row in rows:
                print(f"  {shape}: {row.name}: {_milliseconds(row)}", file=sys.stderr, flush=True)
            del problem
            torch.cuda.empty_cache()
        return table


TILES = {
    64: [(128, 128, 8), (128, 128, 4), (128, 64, 4), (64, 128, 4), (64, 64, 4), (128, 64, 8)],
    128: [(128, 128, 8), (128, 64, 8), (128, 64, 4), (64, 128, 4), (64, 64, 4), (256, 64, 8)],
}


def _by_shape(rows: Sequence[Row]) -> Iterator[tuple[Shape, list[Row]]]:
    for shape, group in itertools.groupby(rows, key=lambda row: row.shape):
        yield shape, list(group)


def _milliseconds(row: Row) -> str:
    return f"{row.spread.median * 1e3:.3f} ms" if row.spread else row.note


def lines(table: Table) -> Iterator[str]:
    """The table in Markdown: rates, ratios to torch's backends, and what the compiled kernels take."""
    yield f"## {table.title}"
    yield ""
    calls = any(row.launched is not None for row in table.rows)
    titles = "shape | variant | ms (10 to 90 %) | TFLOP/s | x flash | x cuDNN | error | registers | shared KB | spills"
    yield f"| {titles} |" + (" a call, us |" if calls else "")
    yield "|---|---|---|---|---|---|---|---|---|---|" + ("---|" if calls else "")
    for shape, group in _by_shape(table.rows):
        medians = {row.name: row.spread.median for row in group if row.spread}
        flops = 4 * shape.batch * shape.heads * shape.seqlen**2 * shape.head_dim / (2 if shape.causal else 1)
        for row in group:
            if row.spread is None:
                yield f"| {shape} | {row.name} | {row.note} | | | | | | | |" + (" |" if calls else "")
                continue
            spread, median = row.spread, row.spread.median
            ratios = [
                f"{medians[other] / median:.3f}" if other in medians else "" for other in ("torch flash", "torch cuDNN")
            ]
            kernel = row.compiled
            used = ["", "", ""]
            if kernel is not None and hasattr(kernel, "n_regs"):
                used = [str(kernel.n_regs), f"{kernel.metadata.shared / 1024:.0f}", str(kernel.n_spills)]
            cells = [
                str(shape),
                row.name,
                f"{median * 1e3:.3f} ({spread.low * 1e3:.3f} to {spread.high * 1e3:.3f})",
                f"{flops / median / 1e12:.0f}" if flops / median > 1e13 else f"{flops / median / 1e12:.1f}",
                *ratios,
                f"{row.error:.1e}",
                *used,
            ]
            if calls:
                cells.append(f"{row.launched * 1e6:.1f}" if row.launched else "")
            yield "| " + " | ".join(cells) + " |"
    yield ""
    yield from _means(table)


def _means(table: Table) -> Iterator[str]:
    """Geometric means over the shapes that a variant was timed on, if on more than one."""
    ratios: dict[str, dict[str, list[float]]] = {}
    for _, group in _by_shape(table.rows):
        medians = {row.name: row.spread.median for row in group if row.spread}
        for name, median in medians.items():
            for other in TORCH:
                if other in medians and name != other:
                    ratios.setdefault(name, {}).setdefault(other, []).append(medians[other] / median)
    for name, by_other in ratios.items():
        if name.startswith("torch") or any(len(found) < 2 for found in by_other.values()):
            continue
        means = [f"{math.prod(x) ** (1 / len(x)):.3f}x {other} ({len(x)} shapes)" for other, x in by_other.items()]
        yield f"* {name}, geometric mean: {', '.join(means)}"
    yield ""


def ratios_in(text: str) -> dict[tuple[str, str], float]:
    """By shape and variant, the ratio to torch's flash backend that a table has; of several, the first."""
    found: dict[tuple[str, str], float] = {}
    for line in text.splitlines():
        cells = [cell.strip() for cell in line.strip("| ").split(" | ")]
        if len(cells) >= 6 and re.fullmatch(r"[\d.]+", cells[4]) and not cells[1].startswith("torch"):
            found.setdefault((cells[0], cells[1]), float(cells[4]))
    return found


def fallen(before: str, now: str) -> list[str]:
    """A sentence for each ratio that fell by over a tenth between two tables, and for what is no longer there."""
    old, new = ratios_in(before), ratios_in(now)
    shapes = {line.strip("| ").split(" | ")[0] for line in now.splitlines() if line.startswith("| B")}
    sentences = []
    for (shape, name), ratio in old.items():
        if shape not in shapes:
            continue  # this part was not run
        if (shape, name) not in new:
            sentences.append(f"{shape}: {name} has no ratio now; it was {ratio:.2f} times torch's flash backend.")
        elif new[shape, name] < ratio * (1 - FALL):
            now_is = f"{new[shape, name]:.2f} times torch's flash backend"
            sentences.append(f"{shape}: {name} is {now_is}; it was {ratio:.2f}.")
    return sentences


def heading(run: Run, arguments: Sequence[str]) -> Iterator[str]:
    device = torch.cuda.get_device_properties(0)
    left, right = (torch.randn(8192, 8192, device="cuda", dtype=torch.bfloat16) for _ in range(2))
    source = torch.empty(2**29, dtype=torch.uint8, device="cuda")
    target = torch.empty_like(source)
    turns = {"matmul": lambda _: left @ right, "copy": lambda _: target.copy_(source)}
    times = take_turns(turns, run.clock, 3, 0.02)
    yield "# Attention forward"
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
    parser.add_argument("--tune", action="store_true", help="search settings instead")
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
    for part in ["tune"] if options.tune else options.only or PARTS:
        table = getattr(run, part)()
        wrong = wrong or any(row.note.startswith("WRONG") for row in table.rows)
        text = list(lines(table))
        print("\n".join(text), flush=True)
        found += text
    if options.markdown:
        options.markdown.write_text("\n".join(found).rstrip() + "\n", encoding="utf-8")
    complaints = fallen(before, "\n".join(found))
    print("\n".join(complaints))
    sys.exit(1 if wrong or complaints else 0)


if __name__ == "__main__":
    main()
