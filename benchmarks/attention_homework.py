"""Lesson 7's homework on a CUDA GPU: each solution beside torch's SDPA, in time and in memory.

    python benchmarks/attention_homework.py [--plain] [--markdown FILE] [EXERCISE ...]
    python benchmarks/attention_homework.py --interpreter    on a CPU: right or not, without times

Launched as the exercises' launch.py do, by the course's own blocks.  Exits 1 if outputs differ from float64 by more
than four times what the grader lets pass in its checks, which are shorter, or if a solution's memory beyond inputs
and outputs grows faster than N; 2 without a GPU.
"""

from __future__ import annotations

import argparse
import importlib.util
import os
import sys
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any

ROOT = Path(__file__).parents[1]
sys.path[:0] = [str(ROOT), str(Path(__file__).parent)]

from homework_tables import Row, Summary, faults, markdown, notes, tables  # noqa: E402

if TYPE_CHECKING:
    from homework_cases import Case, Tensors, Timed

    from autograder.catalogue import Exercise

_SETS = 3  # of inputs, which take turns
_SLACK = 4.0  # of the grader's bar: here rows are up to a hundred times as long as in its checks, and roundings add up
_TINY = 64  # the length in the interpreter


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("exercises", nargs="*", metavar="EXERCISE", help="default: all ten")
    parser.add_argument("--plain", action="store_true", help="no colour and no drawn lines")
    parser.add_argument("--markdown", type=Path, metavar="FILE", help="write the tables there as well")
    parser.add_argument("--interpreter", action="store_true", help="tiny cases on CPU: outputs are compared, no more")
    chosen = parser.parse_args(arguments)
    if chosen.interpreter:
        os.environ["TRITON_INTERPRET"] = "1"
    else:
        os.environ.pop("TRITON_INTERPRET", None)
    import torch

    if not chosen.interpreter and not torch.cuda.is_available():
        print("No CUDA GPU was found that torch can use. With --interpreter outputs are compared on CPU.")
        return 2

    from homework_cases import TIMED

    known = [timed.exercise for timed in TIMED]
    if unknown := [name for name in chosen.exercises if name not in known]:
        print(f"There is no homework called {unknown[0]}. There are {', '.join(known)}.")
        return 2
    summaries = []
    wanted = [timed for timed in TIMED if timed.exercise in (chosen.exercises or known)]
    for number, timed in enumerate(wanted, 1):
        say = _saying(f"{number} of {len(wanted)}  {timed.exercise}")
        summaries.append(_summary(timed, "cpu" if chosen.interpreter else "cuda", say))
    heading = _heading(chosen.interpreter)
    tables(heading, summaries, plain=chosen.plain)
    found = faults(summaries)
    for line in [*notes(chosen.interpreter), *found]:
        print(line)
    if chosen.markdown:
        chosen.markdown.write_text(markdown(heading, summaries, chosen.interpreter), encoding="utf-8")
    return 1 if found else 0


def _saying(what: str) -> Callable[[str], None]:
    """Says on stderr how far it is: each line as it comes, so that a log of it can be read."""
    return lambda more: print(f"{what}: {more}", file=sys.stderr, flush=True)


def _heading(interpreter: bool) -> str:
    import torch
    import triton

    device = "Triton's interpreter" if interpreter else torch.cuda.get_device_name()
    return f"{device}, torch {torch.__version__}, triton {triton.__version__}"


def _summary(timed: Timed, device: str, say: Callable[[str], None]) -> Summary:
    """One exercise at all of its lengths.

    Raises:
        CourseError: there is no such exercise, or its oracle cannot be loaded.
    """
    from autograder.catalogue import load_course

    exercise = load_course(ROOT).exercise(timed.exercise)
    bench = Bench(timed, exercise, device)
    rows = []
    for n in timed.lengths if device == "cuda" else (_TINY,):
        say(f"N = {n:,}")
        rows.append(bench.row(n))
    return Summary(timed.exercise, timed.torch_form, tuple(rows))


class Bench:
    """Times and compares one exercise's solution on one device."""

    def __init__(self, timed: Timed, exercise: Exercise, device: str) -> None:
        from autograder.judge.oracles import load_oracle

        self._timed = timed
        self._exercise = exercise
        self._device = device
        self._solution = _load(ROOT / "solutions" / exercise.stub)
        self._launch = _load(exercise.launch)
        self._oracle = load_oracle(exercise.oracle)

    def row(self, n: int) -> Row:
        """All that is found out at one length."""
        import torch

        case = self._timed.case(n)
        with torch.device(self._device):
            inputs = [self._inputs(case, seed) for seed in range(_SETS if self._device == "cuda" else 1)]
            share, torch_error, wrong = self._compared(case, inputs[0])
            row = Row(n, share=share, torch_error=torch_error, wrong=wrong)
            return self._measured(case, inputs, row) if self._device == "cuda" else row

    def _inputs(self, case: Case, seed: int) -> Tensors:
        """The exercise's inputs, laid out as the grader lays them out."""
        import torch

        made = self._oracle.name("make_inputs")(case, torch.Generator(self._device).manual_seed(seed))
        return {name: self._empty(name, x.shape, x.dtype, case).copy_(x) for name, x in made.items()}

    def _empty(self, name: str, shape: Sequence[int], dtype: Any, case: Case) -> Any:
        import torch

        strides = self._launch.strides(case) if hasattr(self._launch, "strides") else {}
        if name in strides:
            return torch.empty_strided(tuple(shape), strides[name], dtype=dtype)
        return torch.empty(tuple(shape), dtype=dtype)

    def _outputs(self, case: Case, answers: bool) -> dict[str, Any]:
        """Outputs that were asked for, or what the launch has to have besides."""
        import torch

        return {
            name: self._empty(name, shape, getattr(torch, dtype), case)
            for name, (shape, dtype) in self._launch.outputs(case).items()
            if (name in self._timed.answers) == answers
        }

    def _run(self, case: Case, inputs: Tensors, outputs: Tensors) -> None:
        self._launch.launch(_plainly, self._solution, case, inputs, outputs)

    def _compared(self, case: Case, inputs: Tensors) -> tuple[float, float, str]:
        """The largest share of its bar that an output's error has, torch's own relative error, and what is wrong.

        Bars are the grader's, with slack.  The reference is the oracle in float64, and unfused torch at the kernel's
        own dtype.
        """
        import torch

        from autograder.judge.compare import compare

        check = replace(self._exercise.checks[0], case=dict(case))
        outputs = {**self._outputs(case, True), **self._outputs(case, False)}
        for x in outputs.values():
            x.fill_(float("nan"))
        self._run(case, inputs, outputs)
        exact, plain = (self._oracle.exact(check, inputs), self._oracle.plain(check, inputs))
        observed = self._oracle.observed(check, inputs, outputs)
        share, said = 0.0, ""
        for name, kind in self._exercise.compare.items():
            got, right, own = (x[name].detach().cpu() for x in (observed, exact, plain))
            found = compare(name, kind, got, right, own, None, slack=_SLACK)
            said = said or found.message
            if found.measurements.get("bar"):
                share = max(share, found.measurements["error"] / found.measurements["bar"])
        torch_error = 0.0
        for name, x in self._timed.prepare(case, inputs)().items():
            right = exact[name]
            torch_error = max(torch_error, float(torch.linalg.norm(x.double() - right) / torch.linalg.norm(right)))
        return share, torch_error, said

    def _measured(self, case: Case, inputs: Sequence[Tensors], row: Row) -> Row:
        """A row with its memory and its times."""
        import torch
        from gpu_measure import extra_memory, kept_memory, take_turns

        timed = self._timed
        answers = self._outputs(case, True)

        def ours() -> Tensors:
            outputs = {**answers, **self._outputs(case, False)}
            self._run(case, inputs[0], outputs)
            return outputs

        row = replace(row, extra=extra_memory(ours))
        outputs = {**answers, **self._outputs(case, False)}
        calls = [[lambda given=given: self._run(case, given, outputs) for given in inputs]]
        try:
            form, made = kept_memory(lambda: timed.prepare(case, inputs[0]))
            row = replace(row, torch_extra=made * timed.make + extra_memory(form, _bytes))
            calls.append([form, *(timed.prepare(case, given) for given in inputs[1:])])
            ours_time, torch_time = take_turns(calls)
            row = replace(row, ours=ours_time, torch=torch_time)
        except torch.cuda.OutOfMemoryError:
            row = replace(row, ours=take_turns(calls[:1])[0])
        if timed.flops is not None:
            return replace(row, tflops=timed.flops(case) / row.ours.median / 1e9)
        assert timed.moved is not None
        return replace(row, gbytes=timed.moved(case) / row.ours.median / 1e6)


def _bytes(tensors: Tensors) -> int:
    return sum(x.numel() * x.element_size() for x in tensors.values())


def _plainly(kernel: Any, grid: Any, *args: Any, **meta: Any) -> None:
    kernel[grid](*args, **meta)


def _load(path: Path) -> ModuleType:
    spec = importlib.util.spec_from_file_location(f"{path.parent.name}_{path.stem}", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


if __name__ == "__main__":
    sys.exit(main())
