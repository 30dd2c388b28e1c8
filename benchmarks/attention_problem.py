"""One shape of attention with its inputs and right values, and its variants: what the benchmarks of attention time."""

from __future__ import annotations

import importlib.util
import itertools
import math
import sys
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import attention_steps as steps
import torch
import torch.nn.functional as F
from torch.nn.attention import SDPBackend, sdpa_kernel

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT))
sys.path.insert(0, str(ROOT / "solutions"))

import everest  # noqa: E402 - found on the path above
import fast_backward  # noqa: E402

from autograder.worker.timing import Spread, take_turns  # noqa: E402

__all__ = ["ROOT", "Gradients", "Problem", "Row", "Shape", "Variant", "everest", "fast_backward", "load", "measure"]

SETS = 3  # of inputs: at the large shapes each is far beyond the L2 cache
GRADIENTS = ("dq", "dk", "dv")
_FLOOR = 2e-5  # an error that is always allowed: roundings of float32 gradients that are sums over thousands of keys


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


@dataclass
class Row:
    """One variant of one shape; ``launched`` is what one call takes when calls follow each other, with the launch.

    ``replayed`` is the same where the calls were recorded in a CUDA graph before.
    """

    shape: Shape
    name: str
    error: float
    spread: Spread | None = None
    launched: float | None = None
    replayed: float | None = None
    compiled: Any = None
    note: str = ""


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


class Gradients:
    """One shape of the backward pass: q, k, v, what the forward pass left, and the gradients by float64 autograd."""

    def __init__(self, shape: Shape, bench: Any, clock: Any, device: str) -> None:
        self.shape, self.clock = shape, clock
        generator = torch.Generator(device).manual_seed(7)
        size = (shape.batch, shape.heads, shape.seqlen, shape.head_dim)
        self.inputs = []
        for _ in range(SETS):
            made = [x.view(size) for x in bench.make_inputs(shape.case, generator).values()]
            grad = torch.randn(size, generator=generator, device=device).to(made[0].dtype)
            flat = dict(zip("qkv", (x.flatten(0, 2) for x in made), strict=True))
            lse = bench.truth(shape.case, flat)["lse"].float().view(size[:-1])
            out = F.scaled_dot_product_attention(*made, is_causal=shape.causal)
            self.inputs.append((*made, out, grad, lse))
        self.right = self._truth(0)

    def _truth(self, number: int) -> list[torch.Tensor]:
        """dq, dk and dv, float64, a head at a time."""
        q, k, v, _, grad, _ = self.inputs[number]
        found = [torch.empty(x.shape, dtype=torch.float64, device=x.device) for x in (q, k, v)]
        for b, h in itertools.product(range(self.shape.batch), range(self.shape.heads)):
            own = [x[b, h].double().requires_grad_() for x in (q, k, v)]
            s = own[0] @ own[1].T * self.shape.head_dim**-0.5
            if self.shape.causal:
                s = s.masked_fill(torch.ones(s.shape, dtype=torch.bool, device=s.device).triu(1), -math.inf)
            (torch.softmax(s, -1) @ own[2]).backward(grad[b, h].double())
            for whole, one in zip(found, own, strict=True):
                assert one.grad is not None
                whole[b, h] = one.grad
        return found

    def torch_variant(self, backend: SDPBackend) -> Variant:
        """torch's backward by one backend: the forward pass is done beforehand."""
        made: list[Any] = []

        def variant(number: int) -> Any:
            if not made:
                for q, k, v, _, grad, _ in self.inputs:
                    own = [x.detach().requires_grad_() for x in (q, k, v)]
                    with sdpa_kernel(backend):
                        out = F.scaled_dot_product_attention(*own, is_causal=self.shape.causal)
                    made.append((out, own, grad))
            out, own, grad = made[number % SETS]
            return dict(zip(GRADIENTS, torch.autograd.grad(out, own, grad, retain_graph=True), strict=True))

        return variant

    def fast(self, backward: Callable[..., Any], settings: Mapping[str, Any] | None = None) -> Variant:
        """`solutions/fast_backward.py`."""

        def variant(number: int) -> Any:
            *found, compiled = backward(*self.inputs[number % SETS], self.shape.causal, settings=settings)
            return dict(zip(GRADIENTS, found, strict=True)) | {"compiled": compiled}

        return variant

    def plain(self, launch: Any, solution: Any) -> Variant:
        """Lesson 7's own backward pass, as its launch file launches it: one head, float32."""
        block = 64 if self.shape.head_dim <= 64 else 32

        def variant(number: int) -> Any:
            q, k, v, out, grad, lse = (x[0, 0] for x in self.inputs[number % SETS])
            case = {
                "seqlen_q": self.shape.seqlen, "seqlen_k": self.shape.seqlen, "head": self.shape.head_dim,
                "scale": self.shape.head_dim**-0.5, "block_m": block, "block_n": block, "causal": self.shape.causal,
                "doubled": False,
            }  # fmt: skip
            compiled = []

            def run(kernel: Any, grid: Any, *args: Any, **meta: Any) -> None:
                compiled.append(kernel[grid](*args, **meta))

            made = {name: torch.empty(shape, dtype=getattr(torch, dtype), device=q.device)
                    for name, (shape, dtype) in launch.outputs(case).items()}  # fmt: skip
            inputs = {"q": q, "k": k, "v": v, "o": out, "do": grad, "lse": lse}
            launch.launch(run, solution, case, inputs, made)
            return {name: made[name][None, None] for name in GRADIENTS} | {"compiled": compiled[-1]}

        return variant

    def first(self, name: str, variant: Variant) -> Row:
        """Run a variant once, and compare."""
        try:
            made = variant(0)
            self.clock.settle()
        except Exception as error:  # noqa: BLE001 - a backend that does not take the inputs, a kernel that does not fit
            return Row(self.shape, name, math.nan, note=" ".join(str(error).split())[:100] or repr(error))
        errors = [(made[x].double() - right).abs().max().item() for x, right in zip(GRADIENTS, self.right, strict=True)]
        return Row(self.shape, name, math.nan if any(map(math.isnan, errors)) else max(errors),
                   compiled=made.get("compiled"))  # fmt: skip


def measure(problem: Problem | Gradients, variants: Mapping[str, Variant], rounds: int, launches: bool) -> list[Row]:
    """Check each variant, then time those that are right; torch's flash backend sets the bar."""
    rows = {name: problem.first(name, variant) for name, variant in variants.items()}
    reference = rows.get("torch flash") or next(iter(rows.values()))
    bar = max(4 * reference.error, _FLOOR) if not math.isnan(reference.error) else 2e-2
    right = {}
    for name, row in rows.items():
        if row.error <= bar:
            right[name] = variants[name]
        elif not row.note:
            row.note = f"WRONG: error {row.error:.2g}, allowed {bar:.2g}"
    for name, spread in take_turns(right, problem.clock, rounds, 0.02).items():
        rows[name].spread = spread
        if launches:
            rows[name].launched = back_to_back(right[name], problem.clock)
            rows[name].replayed = recorded(right[name], problem.clock)
        if not problem.first(name, right[name]).error <= bar:
            rows[name].spread, rows[name].note = None, "WRONG: another result after the timing than before"
    return list(rows.values())


def back_to_back(variant: Variant, clock: Any, calls: int = 200) -> float:
    """Seconds a call takes when the processor issues one after another, launch overhead and all."""
    clock.settle()
    start = time.perf_counter()
    for number in range(calls):
        variant(number)
    clock.settle()
    return (time.perf_counter() - start) / calls


def recorded(variant: Variant, clock: Any, calls: int = 20, replays: int = 20) -> float | None:
    """Seconds a call takes in a CUDA graph of several; None where there is none, or it cannot be recorded."""
    if not torch.cuda.is_available():
        return None
    graph = torch.cuda.CUDAGraph()
    try:
        with torch.cuda.graph(graph):
            for number in range(calls):
                variant(number)
    except RuntimeError:
        return None
    graph.replay()
    clock.settle()
    start = time.perf_counter()
    for _ in range(replays):
        graph.replay()
    clock.settle()
    return (time.perf_counter() - start) / (calls * replays)


def load(path: Path) -> Any:
    """A file of the course as a module."""
    spec = importlib.util.spec_from_file_location(f"{path.parent.name}_{path.stem}", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module
