"""How fast a kernel is: it and its baselines take turns, and what it wrote is compared before and after.

The student's code here is what it is everywhere, lifted kernels; the clock, the inputs and the comparison are the
kit's and the course's.  While the student's kernel can still run, no right answer to any of its inputs is in this
process: baselines are timed on inputs of their own, and answers are worked out when the last launch is over.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from types import SimpleNamespace
from typing import Any

import torch

from autograder.protocol import RAN, CheckReply
from autograder.worker import buffers as memory
from autograder.worker.faults import Violation
from autograder.worker.timing import Clock, Spread, take_turns

STUDENT = "student"

_SPAN = 256 * 1024**2  # bytes that launches go through before the same inputs come again: beyond any L2 cache
_MOST_SETS = 8
_ROUNDS = 5
_TURN_SECONDS = 0.03
_SEED = 20261130
_MATMUL = {"bfloat16": 8192, "float16": 8192, "float32": 4096}
_COPIED = 512 * 1024**2
_LARGEST = 1e30  # an error that is not finite, as a number that the protocol takes

Inputs = Mapping[str, torch.Tensor]


class Contest:
    """One case: the student's launch against the baselines of the exercise's bench.py.

    ``bench`` has ``make_inputs(case, generator)``, ``truth(case, inputs)`` and a function ``(case, inputs)`` for each
    of ``baselines``, which returns outputs by name.
    """

    def __init__(
        self,
        case: Mapping[str, Any],
        bench: SimpleNamespace,
        launch: SimpleNamespace,
        student: SimpleNamespace,
        baselines: Sequence[str],
        clock: Clock,
        device: str,
    ) -> None:
        self._case, self._bench, self._launch, self._student = case, bench, launch, student
        self._clock, self._device = clock, device
        first = self._made(0)
        size = sum(x.numel() * x.element_size() for x in first.values())
        self._count = max(2, min(_MOST_SETS, math.ceil(_SPAN / max(size, 1))))
        self._mine = [first, *(self._made(number) for number in range(1, self._count))]
        self._theirs = [self._made(1000 + number) for number in range(self._count)]
        self._outputs = {
            name: memory.allocate_output(name, tuple(shape), getattr(torch, dtype), device)
            for name, (shape, dtype) in launch.outputs(case).items()
        }
        small = self._count * size < _SPAN and device == "cuda"
        self._flush = torch.empty(_SPAN, dtype=torch.uint8, device=device) if small else None
        self._compiled: list[Any] = []
        self._last = 0
        self._runs: dict[str, Callable[[int], object]] = {STUDENT: self._run_student}
        for name in baselines:
            self._runs[name] = self._baseline(name)

    def measurements(self) -> dict[str, float]:
        """Seconds, extra bytes and errors, by the names of the protocol; ``absent.NAME`` did not run.

        Raises whatever the student's kernel raises, and Violation where it wrote what it must not.
        """
        self._run_student(0)
        self._clock.settle()
        before = self._kept()
        found: dict[str, float] = {}
        for name in list(self._runs):
            try:
                found[f"memory.{name}"] = self._extra_memory(self._runs[name])
            except RuntimeError:  # of torch: a backend that does not take these inputs, or too little memory
                if name == STUDENT:
                    raise
                del self._runs[name]
                found[f"absent.{name}"] = 1.0
        between = self._flush.zero_ if self._flush is not None else None
        times = take_turns(self._runs, self._clock, _ROUNDS, _TURN_SECONDS, between)
        for name, spread in times.items():
            found |= _seconds(name, spread)
        # The outputs are those of the last launch that was timed.
        after, last = self._kept(), self._last % self._count
        memory.verify(list(self._outputs.values()))
        self._verify_inputs()
        found |= self._errors({0: before}, "before") | self._errors({last: after}, "after")
        return found | self._resources()

    def _made(self, number: int) -> Inputs:
        generator = torch.Generator(self._device).manual_seed(_SEED + number)
        made: Inputs = self._bench.make_inputs(self._case, generator)
        return made

    def _run_student(self, number: int) -> None:
        def run(kernel: Any, grid: tuple[int, ...], *args: Any, **meta: Any) -> None:
            self._compiled = [kernel[grid](*args, **meta)]

        self._last = number
        outputs = {name: buffer.tensor for name, buffer in self._outputs.items()}
        self._launch.launch(run, self._student, self._case, self._mine[number % self._count], outputs)

    def _baseline(self, name: str) -> Callable[[int], object]:
        function = getattr(self._bench, name)
        return lambda number: function(self._case, self._theirs[number % self._count])

    def _kept(self) -> dict[str, torch.Tensor]:
        return {name: buffer.tensor.cpu().clone() for name, buffer in self._outputs.items()}

    def _extra_memory(self, run: Callable[[int], object]) -> float:
        """Bytes that a run takes beyond its inputs and outputs, at the most."""
        if self._device != "cuda":
            run(0)
            return 0.0
        self._clock.settle()
        torch.cuda.reset_peak_memory_stats()
        before = torch.cuda.memory_allocated()
        made = run(0)
        self._clock.settle()
        returned = made.values() if isinstance(made, dict) else ()
        own = sum(x.numel() * x.element_size() for x in returned)
        return float(max(0, torch.cuda.max_memory_allocated() - before - own))

    def _verify_inputs(self) -> None:
        for number, inputs in enumerate(self._mine):
            for name, tensor in self._made(number).items():
                if not torch.equal(tensor, inputs[name]):
                    raise Violation(f"The kernel changed its input {name}. Inputs must stay as they are.")

    def _errors(self, kept: Mapping[int, Mapping[str, torch.Tensor]], when: str) -> dict[str, float]:
        """The worst error as a share of what is allowed, over the outputs, beside the error and the bar themselves."""
        worst = (0.0, 0.0, 0.0)
        for number, outputs in kept.items():
            inputs = self._mine[number]
            truth = self._bench.truth(self._case, inputs)
            plain = self._plain(inputs)
            for name, right in truth.items():
                error = _error(outputs[name].to(self._device), right)
                size = float(right[right.isfinite()].abs().max()) if right.isfinite().any() else 0.0
                epsilon = torch.finfo(outputs[name].dtype).eps
                if name in plain:
                    bar = max(4 * _error(plain[name], right), 8 * epsilon * size)
                else:
                    bar = 64 * epsilon * size
                worst = max(worst, (min(error / max(bar, 1e-30), _LARGEST), min(error, _LARGEST), bar))
        return {f"share.{when}": worst[0], f"error.{when}": worst[1], f"bar.{when}": worst[2]}

    def _plain(self, inputs: Inputs) -> Inputs:
        """What the first baseline that takes these inputs makes of them."""
        for name in self._runs:
            if name != STUDENT:
                made: Inputs = getattr(self._bench, name)(self._case, inputs)
                return made
        return {}

    def _resources(self) -> dict[str, float]:
        for kernel in self._compiled:
            if hasattr(kernel, "n_regs"):
                return {
                    "registers": float(kernel.n_regs),
                    "spills": float(kernel.n_spills),
                    "shared_bytes": float(kernel.metadata.shared),
                }
        return {}


def answer(check_id: str, contest: Contest, roof: Mapping[str, float]) -> CheckReply:
    """The reply for one case, with the roof of this GPU."""
    return CheckReply(check_id, RAN, measurements={**contest.measurements(), **roof})


def measure_roof(clock: Clock, device: str) -> dict[str, float]:
    """What this GPU does at best: bytes a second of a copy, operations a second of a large matmul for each dtype."""
    if device != "cuda":
        return {}
    source = torch.empty(_COPIED, dtype=torch.uint8, device=device)
    target = torch.empty_like(source)
    runs: dict[str, Callable[[int], object]] = {"copy": lambda _: target.copy_(source)}
    for dtype, size in _MATMUL.items():
        runs[dtype] = _product(size, getattr(torch, dtype), device)
    times = take_turns(runs, clock, 3, _TURN_SECONDS)
    found = {f"roof.{dtype}": 2 * size**3 / times[dtype].median for dtype, size in _MATMUL.items()}
    return {**found, "roof.copy": 2 * _COPIED / times["copy"].median}


def _product(size: int, dtype: torch.dtype, device: str) -> Callable[[int], object]:
    left, right = (torch.randn(size, size, device=device).to(dtype) for _ in range(2))
    return lambda _: left @ right


def _seconds(name: str, spread: Spread) -> dict[str, float]:
    return {f"median.{name}": spread.median, f"low.{name}": spread.low, f"high.{name}": spread.high}


def _error(found: torch.Tensor, right: torch.Tensor) -> float:
    """The largest distance; infinite where one of two values is not finite, and they are not the same."""
    found = found.to(right.dtype)
    distance = torch.where(found == right, 0.0, (found - right).abs())
    return float(torch.nan_to_num(distance, nan=math.inf, posinf=math.inf).max())
